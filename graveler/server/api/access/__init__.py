"""Operations on users, groups, policies and credentials."""
