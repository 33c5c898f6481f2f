import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { type Options, parse } from "csv-parse";
import { expectCheap, REPETITIONS, repeatTo } from "../../../test/support/hostile-texts.ts";
import { type CsvColumns, type CsvForm, csvFile, csvLine, undoDefusing } from "./csv-file.ts";

const CELLS: readonly [text: string, written: string][] = [
	...["=1+1", "+1", "-1+cmd", "@SUM(A1)", "＝1+1", "'=1"].map((text): [string, string] => [text, `'${text}`]),
	...["A-1", "100.00", "", "'quoted'", "1=1", "-1", "-1.50", "a -1"].map((text): [string, string] => [
		text,
		text,
	]),
	[" =1", " '=1"],
	["\u00a0＋1", "\u00a0'＋1"],
	["'-1", "''-1"],
	...["\t", "\r", "\n"].map((space): [string, string] => [`${space}=1`, `"${space}'=1"`]),
	["a,b", '"a,b"'],
	["a;b", '"a;b"'],
	['say "hi"', '"say ""hi"""'],
	["two\nlines", '"two\nlines"'],
	["=1,2", `"'=1,2"`],
	["x;=1;y", `"x;'=1;y"`],
	["x,@y", `"x,'@y"`],
	["x\t－1", `"x\t'－1"`],
	["x\r\n=1", `"x\r\n'=1"`],
	["x; '=1", `"x; ''=1"`],
	['x;"=1"', `"x;""'=1"""`],
];

test("a cell is quoted where it must be, no formula runs, and it comes back as it was", () => {
	for (const [text, written] of CELLS) {
		equal(csvLine(["x", text]), `x,${written}\r\n`, JSON.stringify(text));
		const read = written.startsWith('"') ? written.slice(1, -1).replaceAll('""', '"') : written;
		equal(undoDefusing(read), text, JSON.stringify(text));
	}
});

/** Texts that run as formulas if a program splits the file at this separator. */
const hidden = (separator: string) => [
	`x${separator}=cmd|'/c calc'!A1${separator}`,
	`x${separator} \t@SUM(1)${separator}y`,
	`x${separator}"=1+1"${separator}`,
	`${separator}${separator}＝1`,
	`x${separator}\u00a0－2+3`,
	`"${separator}+1`,
];

test("no part of a cell becomes a formula, whatever the separator at which a program splits the file", async () => {
	const texts = [",", ";", "\t", "\n", "\r\n"].flatMap(hidden);
	const columns: CsvColumns<string> = [
		["text", (row) => row],
		["amount", () => "-1.50", "amount"],
		["again", (row) => row],
	];
	for (const separator of [",", ";"] as const) {
		const file = await write(columns, texts, { separator, zone: "UTC" });
		for (const other of [",", ";", "\t"]) {
			const options = { delimiter: other, relax_quotes: true, relax_column_count: true };
			// The file is also split inside quotation marks, because some programs ignore them.
			const split = file.split(new RegExp(`[${other}\r\n]`));
			for (const cell of [...(await read(file, options)).flat(), ...split]) {
				const seen = String(cell).replace(/^[\s"]+/, "");
				ok(!/^[=+@＝＋－＠-]/.test(seen) || /^-1$|^-1[.,]50"?$/.test(seen), `${separator} ${other} ${cell}`);
			}
		}
	}
});

test("each text comes back as it was, and long white space takes little time", async () => {
	const texts = [",", ";", "\t", "\n", "\r\n"].flatMap(hidden);
	for (const text of texts) {
		const [[cell] = []] = await read(csvLine([text]));
		equal(undoDefusing(cell ?? ""), text, JSON.stringify(text));
	}
	for (const part of REPETITIONS) {
		const text = `;${repeatTo(64 * 1024, part)}=1`;
		await expectCheap(JSON.stringify(part), 100, () => undoDefusing(csvLine([text])));
	}
});

test("a negative amount stays a number, and a formula in a column of amounts does not run", async () => {
	const columns: CsvColumns<string> = [
		["text", (row) => row],
		["amount", (row) => row, "amount"],
	];
	const texts = ["-5.00", "-5.00+1", "=1"];
	const plain = await write(columns, texts, { separator: ",", zone: "UTC" });
	equal(plain, "\u{FEFF}text,amount\r\n-5.00,-5.00\r\n'-5.00+1,'-5.00+1\r\n'=1,'=1\r\n");
	const european = await write(columns, ["-5.00"], { separator: ";", zone: "UTC" });
	equal(european, '\u{FEFF}text;amount\r\n-5.00;"-5,00"\r\n');
});

async function write(columns: CsvColumns<string>, texts: readonly string[], form: CsvForm): Promise<string> {
	async function* rows() {
		yield texts;
	}
	return (await Array.fromAsync(csvFile(columns, rows(), form))).join("");
}

async function read(file: string, options: Options = {}): Promise<string[][]> {
	return parse(file, options).toArray();
}
