// Tests CSV files as spreadsheets and other programs write them. Each file is read, or is refused as a whole
// with advice on what to do.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { csvLine } from "#core/conversions/csv-file.ts";
import { expectCheap } from "../../../../test/support/hostile-texts.ts";
import type { JobKindName } from "../store/tables.ts";
import { readRows } from "./file.ts";
import type { JobRow } from "./kind.ts";
import { JOB_KINDS } from "./kinds.ts";
import { createSeenLines } from "./lines.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
/** Size of the chunks in which files are read from a disk. */
const CHUNK_BYTES = 65_536;

async function* chunksOf(file: Uint8Array, chunkBytes: number): AsyncGenerator<Uint8Array> {
	for (let start = 0; start < file.length; start += chunkBytes)
		yield file.subarray(start, start + chunkBytes);
}

async function readFrom(
	read: () => AsyncIterable<Uint8Array>,
	kind: JobKindName,
	onYield: () => void = () => undefined,
) {
	const rows: JobRow[] = [];
	let yields = 0;
	const result = await readRows({ name: "x.csv", bytes: 0, read }, JOB_KINDS[kind], {
		take: async (batch) => {
			ok(batch.length <= 500);
			rows.push(...batch);
			return { ok: true, value: null };
		},
		yieldLoop: async () => {
			yields++;
			onYield();
		},
	});
	return { result, rows, yields };
}

function read(file: string | Uint8Array, chunkBytes = CHUNK_BYTES, kind: JobKindName = "decisions") {
	const all = typeof file === "string" ? bytes(file) : file;
	return readFrom(() => chunksOf(all, chunkBytes), kind);
}

/** Returns a text for each row, in the form "line orderId decision reason". */
async function linesOf(file: string | Uint8Array, chunkBytes?: number): Promise<string[]> {
	const { result, rows } = await read(file, chunkBytes);
	ok(result.ok, JSON.stringify(result));
	equal(result.value, rows.length);
	return rows.map(
		({ line, cells }) =>
			`${line} ${cells["orderId"]} ${cells["decision"]?.toLowerCase()} ${cells["reason"] ?? ""}`,
	);
}

async function refusalOf(file: string | Uint8Array, chunkBytes?: number, kind?: JobKindName) {
	const { result } = await read(file, chunkBytes, kind);
	ok(!result.ok, JSON.stringify(result));
	return result.fault;
}

for (const [what, text, above = 0] of [
	["commas", "orderId,decision,reason\nA-1,approve,\nB 2,reject,FRAUD\n"],
	["semicolons", "orderId;decision;reason\nA-1;approve;\nB 2;reject;FRAUD\n"],
	["tabs", "orderId\tdecision\treason\nA-1\tapprove\t\nB 2\treject\tFRAUD\n"],
	["a byte order mark and CR LF", "\u{FEFF}orderId,decision,reason\r\nA-1,approve,\r\nB 2,reject,FRAUD\r\n"],
	["quotes", '"orderId","decision","reason"\n"A-1","approve",""\n"B 2","reject","FRAUD"'],
	["names as people spell them", "Reason,Order ID,DECISION\n,A-1,Approve\nFRAUD,B 2,Reject\n"],
	["the columns of an export", "orderId,status,decision,reason\nA-1,X,approve,\nB 2,X,reject,FRAUD\n"],
	[
		"the columns of a result",
		"line,result,detail,orderId,decision,reason\n1,x,y,A-1,approve,\n2,x,y,B 2,reject,FRAUD\n",
	],
	["a line that names the separator", "sep=;\norderId;decision;reason\nA-1;approve;\nB 2;reject;FRAUD\n", 1],
	["rows that end early", "orderId,decision,reason\nA-1,approve\nB 2,reject,FRAUD\n"],
	["German columns", "Bestellnummer;Entscheidung;Grund\nA-1;approve;\nB 2;reject;FRAUD\n"],
	["other German columns", "Auftragsnummer;Entscheidung;Begründung\nA-1;approve;\nB 2;reject;FRAUD\n"],
	["French columns", "N° de commande;Décision;Motif\nA-1;approve;\nB 2;reject;FRAUD\n"],
	["French capitals", "NUMÉRO DE COMMANDE;DÉCISION;RAISON\nA-1;approve;\nB 2;reject;FRAUD\n"],
	["Spanish columns", "Número de pedido;Decisión;Motivo\nA-1;approve;\nB 2;reject;FRAUD\n"],
	["Italian columns", "Numero d'ordine;Decisione;Motivo\nA-1;approve;\nB 2;reject;FRAUD\n"],
	["Dutch columns", "Bestelnummer;Besluit;Reden\nA-1;approve;\nB 2;reject;FRAUD\n"],
	["English columns", "Order No.;Decision;Reason\nA-1;approve;\nB 2;reject;FRAUD\n"],
] as const) {
	test(`reads ${what}`, async () => {
		// The second round reads one byte at a time, because the result must not depend on how the file is split
		// into chunks.
		for (const chunkBytes of [CHUNK_BYTES, 1]) {
			deepEqual(await linesOf(text, chunkBytes), [
				`${above + 2} A-1 approve `,
				`${above + 3} B 2 reject FRAUD`,
			]);
		}
	});
}

test("an order id is read exactly as written, and the export's protection against formulas is removed", async () => {
	const orderIds = [
		"=1+1",
		"-5",
		"'-5",
		"@x",
		"'=quoted",
		"x;=1",
		"x, '@y",
		" 8001",
		"8001\u00a0",
		"Größe-1",
		"注文番号",
		"😀",
	];
	const text = ["orderId,decision\r\n", ...orderIds.map((orderId) => csvLine([orderId, "approve"]))].join("");
	for (const chunkBytes of [CHUNK_BYTES, 1, 3, 17]) {
		deepEqual(
			(await read(text, chunkBytes)).rows.map(({ cells }) => cells["orderId"]),
			orderIds,
		);
	}
});

test("control characters are replaced by a character that no order id contains, and long cells are truncated", async () => {
	const { rows } = await read(`orderId,decision\nA\0B,approve\n${"x".repeat(5_000)},approve\n`);
	deepEqual(
		rows.map(({ cells }) => cells["orderId"]),
		["A\u{FFFD}B", "x".repeat(300)],
	);
});

const HISTORY = "programme,order_id,status,sold_at,amount";
const REFUSED: readonly [what: string, file: string | Uint8Array, detail: RegExp, kind?: JobKindName][] = [
	["nothing", "", /The file is empty\. The first line must name the columns: decision; if needed also/],
	["only a header", "orderId,decision\n", /a header but no rows/],
	[
		"no header",
		"A-1,approve\n",
		/Line 1: the columns “A-1” and “approve” are not known, and the column decision is missing/,
	],
	["a misspelt column", "orderId,decision,reson\nA,approve,\n", /the column “reson” is not known/],
	["no decision column", "orderId,reason\nA,\n", /Line 1: the column decision is missing/],
	[
		"no column that names anything",
		"decision\napprove\n",
		/neither a column conversionId nor a column orderId/,
	],
	["a column twice", "orderId,decision,order id\nA,approve,B\n", /Line 1: the column orderId is there twice/],
	[
		"a quote without end",
		'orderId,decision\nA,approve\n"B,approve\n',
		/Line 3 is not valid CSV.*never closed/,
	],
	["a quote in the wrong place", 'orderId,decision\nA,approve\n"B"x,approve\n', /Line 3 is not valid CSV/],
	[
		"other letters",
		Buffer.from("orderId,decision\nA,approve\nM\xfcller,approve\n", "latin1"),
		/has letters that are not in UTF-8.*plain “CSV” on Windows.*choose “Save as” and “CSV UTF-8”/,
	],
	["half a letter at its end", new Uint8Array([0xff, 0xfe, 0x6f]), /not in UTF-8/],
	["a picture", Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"), /a picture, not a CSV file/],
	[
		"a workbook",
		Buffer.from("504b0304140006000800", "hex"),
		/a workbook or an archive, not a CSV file\. In Excel/,
	],
	["random bytes", new Uint8Array(5_000).map((_, at) => (at * 197) % 256), /not in UTF-8|is not known/],
	["a column more", `${HISTORY},colour\n`, /the column “colour” is not known/, "conversions"],
	["a column less", "programme,order_id,status,sold_at\n", /the column amount is missing/, "conversions"],
];

for (const [what, file, detail, kind] of REFUSED) {
	test(`a file with ${what} is refused as a whole`, async () => {
		for (const chunkBytes of [CHUNK_BYTES, 3]) {
			const fault = await refusalOf(file, chunkBytes, kind);
			equal(fault.code, "malformed_file");
			match(fault.detail, detail);
		}
	});
}

test("Excel's Unicode text is read in both byte orders", async () => {
	const text = "\u{FEFF}Bestellnummer\tEntscheidung\tGrund\r\nMüller-1\treject\tFRAUD\r\n";
	const little = Buffer.from(text, "utf16le");
	for (const file of [little, Buffer.from(little).swap16()]) {
		for (const chunkBytes of [CHUNK_BYTES, 1, 3]) {
			deepEqual(await linesOf(file, chunkBytes), ["2 Müller-1 reject FRAUD"]);
		}
	}
});

test("a file with too many lines of a different length than the header is refused early", async () => {
	const { detail } = await refusalOf(`orderId,decision\n${" \n".repeat(20_002)}`);
	match(detail, /More than 20000 lines have more or fewer cells/);
	const { result } = await read(`orderId,decision\n${" \n".repeat(20_000)}A-1,approve\n`);
	ok(result.ok, "blank rows of a spreadsheet are accepted");
});

test("the reader yields to the event loop while it skips blank rows", async () => {
	const blank = await read(`orderId,decision\n${",,,\n".repeat(5_000)}${"\n".repeat(500_000)}A-1,approve\n`);
	deepEqual(blank.result, { ok: true, value: 1 });
	ok(blank.yields >= 10, `${blank.yields} yields`);
});

test("reading an endless line stops at the maximum length of a line", async () => {
	let chunks = 0;
	async function* endless(): AsyncGenerator<Uint8Array> {
		yield bytes("orderId,decision\n");
		for (; ; chunks++) yield bytes("x".repeat(1_000));
	}
	const { result } = await readFrom(endless, "decisions");
	match(result.ok ? "read" : result.fault.detail, /^Line 2 is not valid CSV: it is too long for a row/);
	ok(chunks <= 100, `${chunks} chunks were read`);
});

const WIDE = ";".repeat(15_000);
/** Files of an allowed size, whose lines would become millions of cells, records or characters in memory. */
const BIG: readonly [what: string, header: string, line: string, megabytes: number, detail: RegExp][] = [
	["semicolons in its first line", "", ";", 10, /^Line 1 has more than 100 cells\. Delete the columns/],
	["tabs in its first line", "decision\t", "\t", 10, /^Line 1 has more than 100 cells/],
	[
		"wide lines below a good header",
		"orderId;decision\n",
		`${WIDE}\n`,
		45,
		/^Line 2 has more than 100 cells/,
	],
	["wide lines that end in CR", "orderId;decision\r", `${WIDE}\r`, 45, /^Line 2 has more than 100 cells/],
	["narrower lines", "orderId;decision\n", `${";".repeat(99)}\n`, 45, /More than 20000 lines have more/],
	["lines of empty cells", "orderId;decision\n", ";\n", 45, /^More than 50000 lines are blank/],
	["lines of empty cells between CR", "orderId;decision\r\n", ";\r", 45, /^More than 50000 lines are blank/],
	["a quotation mark without end", 'orderId;decision\n"', "x;", 45, /^Line 2 is not valid CSV.*never closed/],
	[
		"a quoted cell of many lines",
		'orderId;decision\n"',
		"a\n",
		45,
		/^Line \d+ is not valid CSV: it is too long/,
	],
	["many quoted cells", "orderId;decision\n", '"";', 45, /^Line 2 has more than 100 cells/],
	["a long line of one cell", "orderId;decision\n", "x", 45, /^Line 2 is not valid CSV: it is too long/],
];

for (const [what, header, line, megabytes, detail] of BIG) {
	test(`a big file with ${what} is refused after little time and memory`, async () => {
		const chunk = bytes(line.repeat(Math.floor(CHUNK_BYTES / line.length)));
		async function* big(): AsyncGenerator<Uint8Array> {
			yield bytes(header);
			for (let sent = 0; sent < megabytes * 1_000_000; sent += chunk.length) yield chunk;
		}
		const startBytes = process.memoryUsage().rss;
		let mostBytes = 0;
		await expectCheap(what, 2_000, async () => {
			const { result } = await readFrom(big, "decisions", () => {
				mostBytes = Math.max(mostBytes, process.memoryUsage().rss - startBytes);
			});
			match(result.ok ? "read" : result.fault.detail, detail);
		});
		ok(mostBytes < 150_000_000, `${mostBytes} bytes`);
	});
}

test("cells of several lines and all line breaks are read, with the number of the line at which a record ends", async () => {
	const text = 'orderId;decision;reason\r"A;\n1";approve;\r\nA-2;reject;"\n\nFRAUD"\nA-3;approve;';
	const { rows } = await read(text, 1);
	deepEqual(
		rows.map(({ line, cells }) => [line, cells["orderId"], cells["reason"]]),
		[
			[3, "A;\u{FFFD}1", ""],
			[6, "A-2", "\u{FFFD}\u{FFFD}FRAUD"],
			[7, "A-3", ""],
		],
	);
});

test("an error of the disk is thrown and not reported as a mistake in the file", async () => {
	async function* broken(): AsyncGenerator<Uint8Array> {
		yield bytes("orderId,decision\nA,approve\n");
		throw new Error("the disk is gone");
	}
	await rejects(readFrom(broken, "decisions"), /the disk is gone/);
});

test("lines about the same thing are found among many lines, together with whether they agree", () => {
	const seen = createSeenLines(JOB_KINDS.programmes);
	const rows = Array.from({ length: 20_000 }, (_, at) => ({
		line: at + 1,
		cells: { programme: `p ${(at + 1) % 15_000}`, fee: at + 1 === 16_000 ? "2" : "1" },
		settled: null,
	}));
	seen.note(rows);
	equal(seen.hasRepeats, true);
	const settled = seen.settle(rows).map((row) => row.settled?.detail ?? null);
	const at = (line: number) => settled[line - 1];
	equal(at(500), null, "the first line counts");
	equal(at(15_500), "Line 500 says the same.");
	equal(at(6_000), null);
	equal(at(1_000), "Line 16000 says something else about the same programme. Keep one of the two.");
	equal(at(16_000), "Line 1000 says something else about the same programme. Keep one of the two.");
});
