// Reads the fields of a JSON object with their required types. It continues after a wrong field, so that the
// message can name all of them.

export type FieldReader<Name extends string> = {
	text(name: Name): string;
	textOrNull(name: Name): string | null;
	flag(name: Name): boolean;
	count(name: Name): number;
	/** Fields that are missing or have the wrong type. The values read in their place are meaningless. */
	readonly wrong: readonly { readonly name: Name; readonly type: string }[];
};

export function readFields<Name extends string>(
	fields: Readonly<Record<string, unknown>>,
): FieldReader<Name> {
	const wrong: { name: Name; type: string }[] = [];
	return {
		text(name) {
			const value = fields[name];
			if (typeof value === "string") return value;
			wrong.push({ name, type: "string" });
			return "";
		},
		textOrNull(name) {
			const value = fields[name];
			if (typeof value === "string" || value === null) return value;
			wrong.push({ name, type: "string or null" });
			return null;
		},
		flag(name) {
			const value = fields[name];
			if (typeof value === "boolean") return value;
			wrong.push({ name, type: "boolean" });
			return false;
		},
		count(name) {
			const value = fields[name];
			if (typeof value === "number" && Number.isInteger(value)) return value;
			wrong.push({ name, type: "whole number" });
			return 0;
		},
		wrong,
	};
}
