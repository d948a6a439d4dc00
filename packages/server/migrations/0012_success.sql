-- A run that went well is called `success` wherever people see it: one word for it, here too.
ALTER TYPE carillon.outcome RENAME VALUE 'succeeded' TO 'success';
