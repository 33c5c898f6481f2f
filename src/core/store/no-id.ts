/** An id that no row has. It fills lists that may be empty, because `in ()` is not valid SQL. */
export const NO_ID = 0;
