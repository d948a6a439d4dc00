-- Which connection this is: a look at the session.
SELECT pg_backend_pid() AS pid
