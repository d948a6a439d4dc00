-- As whom the statements of a connection are run: a look at the session.
SELECT current_user AS role
