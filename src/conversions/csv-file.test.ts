import { equal } from "node:assert/strict";
import { test } from "node:test";
import { type CsvColumns, csvFile, csvLine, undoDefusing } from "./csv-file.ts";

const CELLS: readonly [text: string, written: string][] = [
	...["=1+1", "+1", "-1+cmd", "@SUM(A1)", "＝1+1", "'=1"].map((text): [string, string] => [text, `'${text}`]),
	...["A-1", "100.00", "", "'quoted'", "1=1", " =1", "-1", "-1.50"].map((text): [string, string] => [
		text,
		text,
	]),
	["'-1", "''-1"],
	...["\t=1", "\r=1", "\n=1"].map((text): [string, string] => [text, `"'${text}"`]),
	["a,b", '"a,b"'],
	["a;b", '"a;b"'],
	['say "hi"', '"say ""hi"""'],
	["two\nlines", '"two\nlines"'],
	["=1,2", `"'=1,2"`],
];

test("a cell is quoted where it must be, no formula runs, and it comes back as it was", () => {
	for (const [text, written] of CELLS) {
		equal(csvLine(["x", text]), `x,${written}\r\n`, JSON.stringify(text));
		const read = written.startsWith('"') ? written.slice(1, -1).replaceAll('""', '"') : written;
		equal(undoDefusing(read), text, JSON.stringify(text));
	}
});

test("a negative amount stays a number, and a formula in a column of amounts does not run", async () => {
	const columns: CsvColumns<string> = [
		["text", (row) => row],
		["amount", (row) => row, "amount"],
	];
	async function* rows() {
		yield ["-5.00", "-5.00+1", "=1"];
	}
	const file = (await Array.fromAsync(csvFile(columns, rows()))).join("");
	equal(file, "\u{FEFF}text,amount\r\n-5.00,-5.00\r\n'-5.00+1,'-5.00+1\r\n'=1,'=1\r\n");
});
