"""What is going on, and what is wrong: archives for people who look from afar, and the doctor. Reads only."""
