import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { csvLine } from "../domain/csv-cell.ts";
import { MAX_BULK_ROWS, MAX_FILE_BYTES, readDecisions } from "./bulk-csv.ts";

const turn = async () => undefined;
const SOUND = { verdict: null, problem: null };
const bytes = (text: string) => new TextEncoder().encode(text);
const read = (text: string) => readDecisions(bytes(text), turn);

async function rowsOf(text: string) {
	const rows = await read(text);
	ok(rows.ok, JSON.stringify(rows));
	return rows.value;
}

for (const [what, text] of [
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
	["rows that end early", "orderId,decision,reason\nA-1,approve\nB 2,reject,FRAUD\n"],
] as const) {
	test(`reads ${what}`, async () => {
		deepEqual(await rowsOf(text), [
			{ line: 2, orderId: "A-1", eventType: "SALE", decision: "approve", reason: "", ...SOUND },
			{ line: 3, orderId: "B 2", eventType: "SALE", decision: "reject", reason: "FRAUD", ...SOUND },
		]);
	});
}

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
] as const) {
	test(`a row with ${what} says so on its line, and the others stand`, async () => {
		const rows = await rowsOf(`orderId,decision,reason\nfirst,approve,\n${line}\nlast,approve,\n`);
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
	equal(rows[1]?.orderId, "x".repeat(200), "bounded, and nothing that no database stores");
});

test("an order that is decided twice is taken once, and the second line names the first", async () => {
	const rows = await rowsOf("orderId,eventType,decision\nA,SALE,approve\nA,LEAD,approve\nA,,approve\n");
	deepEqual(
		rows.map((row) => row.problem),
		[null, null, "Line 2 already decides this order. Keep one line for each order."],
	);
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
	["a column twice", "orderId,decision,order id\nA,approve,B\n", /Line 1: the column orderId is there twice/],
	["a quote that is never closed", 'orderId,decision\nA,approve\n"B,approve\n', /Line 3 is not valid CSV/],
	["a quote in the wrong place", 'orderId,decision\nA,approve\n"B"x,approve\n', /Line 3 is not valid CSV/],
] as const) {
	test(`a file with ${what} is refused as a whole, and says what to do`, async () => {
		const rows = await read(text);
		ok(!rows.ok);
		equal(rows.fault.code, "malformed_file");
		match(rows.fault.detail, detail);
	});
}

test("another encoding is refused with the line it shows on", async () => {
	const latin = new Uint8Array([
		...bytes("orderId,decision\nA,approve\nM"),
		0xfc,
		...bytes("ller,approve\n"),
	]);
	const refused = await readDecisions(latin, turn);
	ok(!refused.ok);
	match(refused.fault.detail, /Line 3 is not in UTF-8.*CSV UTF-8/);
	const wide = await readDecisions(new Uint8Array([0xff, 0xfe, 0x6f, 0]), turn);
	ok(!wide.ok);
	match(wide.fault.detail, /UTF-16/);
});

test(`${MAX_BULK_ROWS} rows are taken, one more is not, and others get their turn in between`, async () => {
	const lines = Array.from({ length: MAX_BULK_ROWS }, (_, index) => `order ${index},approve`).join("\n");
	let turns = 0;
	const takeTurn = async () => void turns++;
	const full = await readDecisions(bytes(`orderId,decision\n${lines}\n`), takeTurn);
	ok(full.ok);
	equal(full.value.length, MAX_BULK_ROWS);
	ok(turns >= MAX_BULK_ROWS / 1_000);
	const over = await read(`orderId,decision\n${lines}\none more,approve\n`);
	ok(!over.ok);
	equal(over.fault.code, "too_many_rows");
});

test("a file that is too large is refused before it is read", async () => {
	const refused = await readDecisions(new Uint8Array(MAX_FILE_BYTES + 1), turn);
	ok(!refused.ok);
	equal(refused.fault.code, "body_too_large");
});

test("rows that are blank take their turns, and a line that no row could be is refused unread", async () => {
	let turns = 0;
	const takeTurn = async () => void turns++;
	const blank = await readDecisions(
		bytes(`orderId,decision\n${",,,\n".repeat(5_000)}A-1,approve\n`),
		takeTurn,
	);
	equal(blank.ok, true);
	ok(turns >= 10, `${turns} turns`);
	for (const text of [
		`orderId,decision${",".repeat(100_000)}\nA,approve\n`,
		`orderId,decision\n${",".repeat(100_000)}\n`,
	]) {
		const refused = await readDecisions(bytes(text), takeTurn);
		equal(refused.ok ? "read" : refused.fault.code, "malformed_file");
	}
});
