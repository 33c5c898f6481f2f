// A column of many rows as one parameter, in PostgreSQL's own spelling of an array: the driver's took 3 µs of a
// result's time in a profile.

type Element = number | string | null;

export function arrayLiteral(values: readonly Element[]): string {
	return columnLiteral(values, (value) => value);
}

export function columnLiteral<Row>(rows: readonly Row[], read: (row: Row) => Element): string {
	let literal = "{";
	for (const row of rows) {
		if (literal.length > 1) literal += ",";
		literal += spellElement(read(row));
	}
	return `${literal}}`;
}

function spellElement(value: Element): number | string {
	if (value === null) return "NULL";
	if (typeof value === "number") return value;
	return `"${/["\\]/.test(value) ? value.replace(/["\\]/g, "\\$&") : value}"`;
}
