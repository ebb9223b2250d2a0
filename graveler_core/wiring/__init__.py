"""Opening of stores: from a URL to a handle.

Other packages are imported when a store is opened, because their import takes most of a second. `--help` and the use
of types do not need them.

A store with access control returns a guarded handle, and requires credentials (`handles`, `users`). Functions without
a handle (`opening`, `copies`) check no permissions: they are for workers, which do what their driver is allowed to do,
and for administrators. Anyone with the store's URL can bypass the handles.
"""
