/**
 * Lets tests pass the time to the script instead of the server's own, and to what is remembered. Not exported by
 * the package: a clock for each client is how limits get shared wrongly.
 */
export const TIME_DOOR = Symbol('tidegate.time')
