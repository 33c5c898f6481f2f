import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { createClock } from "../../test/support/clock.ts";
import { readImportRows } from "./import-file.ts";
import { importKind } from "./import-kinds.ts";
import { fileOf } from "./imports.test-support.ts";
import { readThrough } from "./run-import.ts";
import { createSeenLines } from "./seen-lines.ts";

const REFUSED: readonly [name: string, bytes: string | Uint8Array, problem: RegExp][] = [
	["nothing", "", /The file is empty\. The first line must name the columns: programme, order_id/],
	["no lines", "programme,order_id,status,sold_at,amount\n", /a header but no rows/],
	["another column", "programme,order_id,status,sold_at,amount,colour\n", /there is no column “colour”/],
	["a column less", "programme,order_id,status,sold_at\n", /the column amount is missing/],
	["a column twice", "programme,Order ID,order_id,status,sold_at,amount\n", /order_id is there twice/],
	["a quote without end", 'programme,order_id,status,sold_at,amount\nx,"y\n', /never closed/],
	["other letters", Buffer.from("programme,order_id\nB\xfccher,1\n", "latin1"), /not in UTF-8/],
	["a picture", new Uint8Array(5_000).map((_, at) => (at * 197) % 256), /not in UTF-8|no column/],
];

for (const [name, bytes, problem] of REFUSED) {
	test(`a file with ${name} is refused as a whole, in a sentence`, async () => {
		const clock = createClock();
		const read = await readThrough({ clock }, importKind("conversions"), fileOf(bytes), "odd.csv");
		equal(read.ok, false);
		match(read.ok ? "" : read.fault.detail, problem);
	});
}

test("of many lines those about the same thing are known, and whether they agree", () => {
	const seen = createSeenLines();
	const lines = 20_000;
	for (let line = 1; line <= lines; line++)
		seen.note(line, `order ${line % 15_000}`, line === 16_000 ? "other" : "same");
	equal(seen.findOther(15_500, "order 500", "same")?.kind, "repeats");
	equal(seen.findOther(15_500, "order 500", "same")?.line, 500);
	equal(seen.findOther(500, "order 500", "same"), null, "the first is followed");
	equal(seen.findOther(6_000, "order 6000", "same"), null);
	equal(seen.findOther(1_000, "order 1000", "same")?.line, 16_000);
	equal(seen.findOther(16_000, "order 1000", "other")?.kind, "contradicts");
	equal(seen.findOther(16_000, "order 1000", "other")?.line, 1_000);
	equal(seen.findOther(7, "never noted", "same"), null);
});

test("a file with more lines than are taken is refused, with the way for more", async () => {
	const text = `email,programme,role\n${"a@b.example,x,owner\n".repeat(11)}`;
	const read = (maxRows: number) =>
		readImportRows(fileOf(text), importKind("people"), {
			take: async () => undefined,
			maxRows,
			yieldLoop: async () => undefined,
		});
	deepEqual(await read(11), { ok: true, value: 11 });
	const refused = await read(10);
	match(
		refused.ok ? "" : refused.fault.detail,
		/more than 10 lines\. Split it into parts, or .*ringback import/,
	);
});

for (const [what, blank] of [
	["empty lines", "\n"],
	["rows of empty cells", ";;\r\n"],
] as const) {
	test(`a file of ${what} without end is read no further than a spreadsheet goes`, async () => {
		let bytes = 0;
		async function* read(): AsyncGenerator<Uint8Array> {
			yield Buffer.from("email;programme;role\na@b.example;x;owner\n");
			for (const block = Buffer.from(blank.repeat(4_096)); ; bytes += block.length) yield block;
		}
		const refused = await readImportRows({ read }, importKind("people"), {
			take: async () => undefined,
			maxLines: 10_000,
			yieldLoop: async () => undefined,
		});
		match(
			refused.ok ? "" : `${refused.fault.code}: ${refused.fault.detail}`,
			/^too_many_rows: The file has more than 10\u00a0000 lines, blank ones counted\. Delete the blank lines/,
		);
		ok(bytes <= 20_000 * blank.length, `${bytes} bytes`);
	});
}
