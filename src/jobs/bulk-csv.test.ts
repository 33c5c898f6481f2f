import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { csvLine } from "../conversions/csv-cell.ts";
import { MAX_BULK_ROWS, readDecisions } from "./bulk-csv.ts";
import type { CheckedRow } from "./bulk-row.ts";

const SOUND = { verdict: null, problem: null };
const bytes = (text: string) => new TextEncoder().encode(text);
/** As a file on a disk comes. */
const CHUNK_BYTES = 65_536;

async function* chunksOf(file: Uint8Array, chunkBytes: number): AsyncGenerator<Uint8Array> {
	for (let start = 0; start < file.length; start += chunkBytes)
		yield file.subarray(start, start + chunkBytes);
}

async function read(file: string | Uint8Array, chunkBytes = CHUNK_BYTES) {
	const rows: CheckedRow[] = [];
	const pages: number[] = [];
	let yields = 0;
	const result = await readDecisions(chunksOf(typeof file === "string" ? bytes(file) : file, chunkBytes), {
		take: async (page) => {
			pages.push(page.length);
			rows.push(...page);
		},
		yieldLoop: async () => void yields++,
	});
	return { result, rows, pages, yields };
}

async function rowsOf(text: string, chunkBytes?: number) {
	const { result, rows } = await read(text, chunkBytes);
	ok(result.ok, JSON.stringify(result));
	equal(result.value, rows.length);
	return rows;
}

async function refusalOf(file: string | Uint8Array, chunkBytes?: number) {
	const { result } = await read(file, chunkBytes);
	ok(!result.ok, JSON.stringify(result));
	return result.fault;
}

for (const [what, text, ...rest] of [
	["commas", "orderId,decision,reason\nA-1,approve,\nB 2,reject,FRAUD\n"],
	[
		"semicolons, as spreadsheets in many countries write them",
		"orderId;decision;reason\nA-1;approve;\nB 2;reject;FRAUD\n",
	],
	["tabs", "orderId\tdecision\treason\nA-1\tapprove\t\nB 2\treject\tFRAUD\n"],
	["a byte order mark and CR LF", "\u{FEFF}orderId,decision,reason\r\nA-1,approve,\r\nB 2,reject,FRAUD\r\n"],
	["quotes", '"orderId","decision","reason"\n"A-1","approve",""\n"B 2","reject","FRAUD"'],
	["names as people spell them, in any order", "Reason,Order ID,DECISION\n,A-1,Approve\nfraud,B 2,Reject\n"],
	[
		"the columns of an export",
		"orderId,status,basketValue,decision,reason\nA-1,RECORDED,1.00,approve,\nB 2,RECORDED,2.00,reject,FRAUD\n",
	],
	[
		"a line that names the separator, as Excel takes it",
		"sep=;\norderId;decision;reason\nA-1;approve;\nB 2;reject;FRAUD\n",
		1,
	],
	["rows that end early", "orderId,decision,reason\nA-1,approve\nB 2,reject,FRAUD\n"],
] as const) {
	const above = rest[0] ?? 0;
	test(`reads ${what}`, async () => {
		const row = { conversionId: "", eventType: "SALE", ...SOUND };
		// Also a byte at a time: where a block ends means nothing.
		for (const chunkBytes of [CHUNK_BYTES, 1]) {
			deepEqual(await rowsOf(text, chunkBytes), [
				{ ...row, line: above + 2, orderId: "A-1", decision: "approve", reason: "" },
				{ ...row, line: above + 3, orderId: "B 2", decision: "reject", reason: "FRAUD" },
			]);
		}
	});
}

const CONVERSION = "cnv_01KZ0000000000000000000000";

test("a line that names a conversion need not name its order, and says nothing by an empty cell", async () => {
	const lines = [
		"conversionId,orderId,eventType,decision,reason",
		`${CONVERSION},,,approve,`,
		` ${CONVERSION} ,A-1,lead,reject,FRAUD`,
		",A-2,,approve,",
	];
	deepEqual(
		(await rowsOf(lines.join("\n"))).map((row) => [
			row.conversionId,
			row.orderId,
			row.eventType,
			row.problem,
		]),
		[
			[CONVERSION, "", "", null],
			[CONVERSION, "A-1", "LEAD", null],
			["", "A-2", "SALE", null],
		],
	);
	const [alone] = await rowsOf(`Conversion ID;decision\n${CONVERSION};approve\n`);
	deepEqual([alone?.conversionId, alone?.orderId, alone?.problem], [CONVERSION, "", null]);
});

for (const [what, orderId] of [
	["a no-break space before it", "\u00a08001"],
	["a space behind it", "8001 "],
	["a tab before it", "\t8001"],
	["a byte order mark before it", "\ufeff8001"],
	["a zero-width space in it", "80\u200b01"],
	["a direction mark in it", "80\u202e01"],
] as const) {
	test(`an order id with ${what} is refused on its line, and never taken for the order it looks like`, async () => {
		// A block per line and one for all: at its start, too, nothing may be dropped.
		for (const chunkBytes of [CHUNK_BYTES, 17]) {
			const [first, odd] = await rowsOf(`orderId,decision\n8001,approve\n"${orderId}",approve\n`, chunkBytes);
			deepEqual([first?.orderId, first?.problem], ["8001", null]);
			equal(odd?.verdict, "malformed");
			match(odd?.problem ?? "", /^orderId /);
			ok(odd?.orderId !== "8001");
		}
	});
}

test("beside a conversionId the order id is kept as it is written, to be compared with what is on record", async () => {
	const [row] = await rowsOf(`conversionId,orderId,decision\n${CONVERSION},\u00a08001,approve\n`);
	deepEqual([row?.orderId, row?.problem], ["\u00a08001", null]);
});

test("an order id that looks like a formula comes back from an export as it was", async () => {
	const orderIds = ["=1+1", "-5", "@x", "'=quoted"];
	const text = ["orderId,decision\r\n", ...orderIds.map((orderId) => csvLine([orderId, "approve"]))].join("");
	deepEqual(
		(await rowsOf(text)).map((row) => row.orderId),
		orderIds,
	);
});

for (const [what, line, problem] of [
	["no order id", ",approve,", /orderId must have 1 to 128 characters/],
	["an endless order id", `${"x".repeat(129)},approve,`, /orderId must have 1 to 128 characters/],
	["an unknown decision", "A-1,delete,", /decision must be one of/],
	["no reason to reject", "A-1,reject,", /A reason is needed here: one of RETURN/],
	["no reason to reverse", "A-1,reverse,", /A reason is needed here/],
	["an unknown reason", "A-1,reject,BORED", /reason must be one of/],
	["a reason to approve", "A-1,approve,FRAUD", /An approval has no reason/],
	["a conversionId that is none", "A-1,approve,,8001", /conversionId must be one from an export/],
	[
		"another kind of id",
		"A-1,approve,,prg_01KZ0000000000000000000000",
		/conversionId must be one from an export/,
	],
	["an unknown event type of a conversion", `,approve,,${CONVERSION},VISIT`, /eventType must be one of/],
] as const) {
	test(`a row with ${what} says so on its line, and the others stand`, async () => {
		const header = "orderId,decision,reason,conversionId,eventType";
		const rows = await rowsOf(`${header}\nfirst,approve,\n${line}\nlast,approve,\n`);
		deepEqual(
			rows.map((row) => [row.line, row.problem === null]),
			[
				[2, true],
				[3, false],
				[4, true],
			],
		);
		match(rows[1]?.problem ?? "", problem);
	});
}

test("a row without a decision is left alone, whatever else it holds, and decides nothing about its order", async () => {
	const rows = await rowsOf(`orderId,decision,reason\nA,,FRAUD\n${"x".repeat(300)}\0, ,\nA,approve,\n`);
	deepEqual(
		rows.map(({ verdict, problem }) => [verdict, problem]),
		[
			["left", null],
			["left", null],
			[null, null],
		],
	);
	equal(rows[1]?.orderId, "x".repeat(256), "bounded, and nothing that no database stores");
});

test("what no database stores is kept out of a malformed row", async () => {
	const [row] = await rowsOf("orderId,decision\nA\0B,approve\n");
	equal(row?.orderId, "A\u{FFFD}B");
	match(row?.problem ?? "", /control characters/);
});

for (const [what, text, detail] of [
	["nothing", "", /The file is empty\. The first line must name the columns/],
	["only a header", "orderId,decision\n", /no rows/],
	["no header", "A-1,approve\n", /Line 1: there is no column “A-1”/],
	["a misspelt column", "orderId,decision,reson\nA,approve,\n", /Line 1: there is no column “reson”/],
	["no decision column", "orderId,reason\nA,\n", /Line 1: the column decision is missing/],
	[
		"no column that names anything",
		"decision\napprove\n",
		/neither a column conversionId nor a column orderId/,
	],
	["a column twice", "orderId,decision,order id\nA,approve,B\n", /Line 1: the column orderId is there twice/],
	["a quote that is never closed", 'orderId,decision\nA,approve\n"B,approve\n', /Line 3 is not valid CSV/],
	["a quote in the wrong place", 'orderId,decision\nA,approve\n"B"x,approve\n', /Line 3 is not valid CSV/],
] as const) {
	test(`a file with ${what} is refused as a whole, and says what to do`, async () => {
		for (const chunkBytes of [CHUNK_BYTES, 3]) {
			const fault = await refusalOf(text, chunkBytes);
			equal(fault.code, "malformed_file");
			match(fault.detail, detail);
		}
	});
}

test("another encoding is refused with the line it shows on", async () => {
	const latin = new Uint8Array([
		...bytes("orderId,decision\nA,approve\nM"),
		0xfc,
		...bytes("ller,approve\n"),
	]);
	for (const chunkBytes of [CHUNK_BYTES, 1]) {
		const { detail } = await refusalOf(latin, chunkBytes);
		match(
			detail,
			/Line 3 has letters that are not in UTF-8.*plain “CSV” on Windows.*choose “Save as” and “CSV UTF-8”/,
		);
		// Half a letter at the end.
		match((await refusalOf(new Uint8Array([0xff, 0xfe, 0x6f]), chunkBytes)).detail, /UTF-16 and broken/);
	}
});

test("what Excel calls Unicode text is read, whichever way round its bytes are", async () => {
	const text = "\u{FEFF}Bestellnummer\tEntscheidung\tGrund\r\nMüller-1\treject\tOut of stock\r\n";
	const little = Buffer.from(text, "utf16le");
	const big = Buffer.from(little).swap16();
	for (const file of [little, big]) {
		for (const chunkBytes of [CHUNK_BYTES, 1, 3]) {
			const { result, rows } = await read(file, chunkBytes);
			equal(result.ok, true);
			deepEqual(
				rows.map(({ orderId, decision, reason, problem }) => [orderId, decision, reason, problem]),
				[["Müller-1", "reject", "OUT_OF_STOCK", null]],
			);
		}
	}
});

for (const [language, header] of [
	["German", "Bestellnummer;Entscheidung;Grund"],
	["German, of an order", "Auftragsnummer;Entscheidung;Begründung"],
	["French", "N° de commande;Décision;Motif"],
	["French, capitals", "NUMÉRO DE COMMANDE;DÉCISION;RAISON"],
	["Spanish", "Número de pedido;Decisión;Motivo"],
	["Italian", "Numero d'ordine;Decisione;Motivo"],
	["Dutch", "Bestelnummer;Besluit;Reden"],
	["English", "Order No.;Decision;Reason"],
] as const) {
	test(`a file with the columns of a spreadsheet in ${language} is read`, async () => {
		const [row] = await rowsOf(`${header}\r\nA-1;Reject;payment failed\r\n`);
		deepEqual(
			[row?.orderId, row?.decision, row?.reason, row?.problem],
			["A-1", "reject", "PAYMENT_FAILED", null],
		);
	});
}

test("reasons and decisions are taken in words and any case", async () => {
	const lines = ["Out of stock", "out_of_stock", "OUT-OF-STOCK", " out  of stock "];
	const rows = await rowsOf(
		`orderId,decision,reason\n${lines.map((reason) => `A,Rejected,${reason}\n`).join("")}`,
	);
	deepEqual(
		rows.map(({ decision, reason, problem }) => [decision, reason, problem]),
		lines.map(() => ["reject", "OUT_OF_STOCK", null]),
	);
	const [approved, reversed] = await rowsOf(
		"orderId,decision,reason\nA,APPROVED,\nB,Reversed,self-referral\n",
	);
	deepEqual(
		[approved?.decision, reversed?.decision, reversed?.reason],
		["approve", "reverse", "SELF_REFERRAL"],
	);
});

test("characters of several bytes come through wherever a block ends", async () => {
	const orderIds = ["Größe-1", "注文番号", "😀"];
	const text = `orderId,decision\n${orderIds.map((orderId) => `${orderId},approve\n`).join("")}`;
	for (let chunkBytes = 1; chunkBytes < 20; chunkBytes++) {
		deepEqual(
			(await rowsOf(text, chunkBytes)).map((row) => row.orderId),
			orderIds,
		);
	}
});

test(`${MAX_BULK_ROWS} rows are taken in batches, one more is not, and others run in between`, async () => {
	const lines = Array.from({ length: MAX_BULK_ROWS }, (_, index) => `order ${index},approve`).join("\n");
	const { result, rows, pages, yields } = await read(`orderId,decision\n${lines}\n`);
	deepEqual(result, { ok: true, value: MAX_BULK_ROWS });
	deepEqual([rows.length, rows.at(-1)?.orderId], [MAX_BULK_ROWS, `order ${MAX_BULK_ROWS - 1}`]);
	deepEqual(new Set(pages), new Set([500]));
	ok(yields >= MAX_BULK_ROWS / 1_000);
	const over = await refusalOf(`orderId,decision\n${lines}\none more,approve\n`);
	equal(over.code, "too_many_rows");
});

test("rows that are blank take their yields, and a line that no row could be is refused unread", async () => {
	const blank = await read(`orderId,decision\n${",,,\n".repeat(5_000)}A-1,approve\n`);
	equal(blank.result.ok, true);
	ok(blank.yields >= 10, `${blank.yields} yields`);
	for (const [text, line] of [
		[`orderId,decision${",".repeat(100_000)}\nA,approve\n`, 1],
		[`orderId,decision\n${",".repeat(100_000)}\n`, 2],
		[`orderId,decision\nA,approve\n${"x".repeat(20_001)}`, 3],
	] as const) {
		const fault = await refusalOf(text);
		deepEqual([fault.code, fault.detail], ["malformed_file", `Line ${line} is too long for a row.`]);
	}
});

test("a sheet that was saved with its blank lines to the end is taken, and not one line more", async () => {
	const rows = "orderId,decision\nA-1,approve\n";
	const sheet = (lines: number) => read(`${rows}${"\n".repeat(lines - 2)}`);
	deepEqual((await sheet(1_048_576)).result, { ok: true, value: 1 });
	const { result } = await sheet(1_048_577);
	equal(result.ok || result.fault.code, "too_many_rows");
});

test("a file without end is read no further than to the line that is too long", async () => {
	let chunks = 0;
	async function* endless(): AsyncGenerator<Uint8Array> {
		yield bytes("orderId,decision\n");
		for (;;) {
			chunks += 1;
			yield bytes("x".repeat(1_000));
		}
	}
	const read = await readDecisions(endless(), {
		take: async () => undefined,
		yieldLoop: async () => undefined,
	});
	equal(read.ok ? "read" : read.fault.detail, "Line 2 is too long for a row.");
	ok(chunks <= 21, `${chunks} chunks were read`);
});

test("what fails below is not taken for a mistake in the file", async () => {
	async function* broken(): AsyncGenerator<Uint8Array> {
		yield bytes("orderId,decision\nA,approve\n");
		throw new Error("the disk is gone");
	}
	const reader = { take: async () => undefined, yieldLoop: async () => undefined };
	await rejects(readDecisions(broken(), reader), /the disk is gone/);
});
