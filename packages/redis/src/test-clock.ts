/**
 * The test hook `{ [TEST_CLOCK]: clock }` among the options: the script and the denial cache use this clock instead of
 * the server's. The package does not export it, because processes with clocks of their own would not share limits exactly.
 */
export const TEST_CLOCK = Symbol('tidegate.test-clock')
