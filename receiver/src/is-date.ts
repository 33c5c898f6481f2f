/**
 * Returns true for a Date. It is recognized by its name, because `instanceof` fails for a Date from the globals of a test
 * runner.
 */
export function isDate(value: unknown): value is Date {
	return Object.prototype.toString.call(value) === "[object Date]";
}
