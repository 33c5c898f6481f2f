// Writes a JSON file of any size. A list is written one row per line, and the next batch of it is read only when the reader
// has taken the one before.

import { isoTime } from "#core/domain/time.ts";

/** Part of a file: a value, or a list that is read in batches. */
export type Section = readonly [name: string, content: unknown | AsyncIterable<readonly unknown[]>];

export async function* jsonFile(sections: readonly Section[]): AsyncGenerator<string> {
	yield "{";
	for (const [index, [name, content]] of sections.entries()) {
		yield `${index === 0 ? "" : ","}\n  ${JSON.stringify(name)}: `;
		if (isBatched(content)) yield* jsonList(content);
		else yield JSON.stringify(content, null, 2).replaceAll("\n", "\n  ");
	}
	yield "\n}\n";
}

async function* jsonList(batches: AsyncIterable<readonly unknown[]>): AsyncGenerator<string> {
	let isFirst = true;
	yield "[";
	for await (const batch of batches) {
		for (const row of batch) {
			yield `${isFirst ? "" : ","}\n    ${JSON.stringify(row)}`;
			isFirst = false;
		}
	}
	yield isFirst ? "]" : "\n  ]";
}

function isBatched(content: unknown): content is AsyncIterable<readonly unknown[]> {
	return typeof content === "object" && content !== null && Symbol.asyncIterator in content;
}

/** Returns a row with the names that people read: `created_at_ms` becomes `createdAt`, with a time in UTC. */
export function readable(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
	return Object.fromEntries(
		Object.entries(row).map(([column, value]) => {
			const isTime = column.endsWith("_at_ms");
			const name = column.replace(/_ms$/, "").replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
			return [name, isTime && typeof value === "number" ? isoTime(value) : value];
		}),
	);
}
