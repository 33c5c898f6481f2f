// Checks that a program of the README must pass on any runtime and in any framework.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sampleEvent } from "../../receiver/src/sample-delivery.test-support.ts";
import { runProgram } from "../support/run-program.ts";
import { checkReceiver, freshDelivery, repeatDelivery, SECRET, sendDelivery } from "./delivery-cases.ts";
import type { ShopFolder } from "./shop-folder.ts";
import { VECTORS_PROGRAM } from "./vectors-program.ts";

export interface Runtime {
	title: string;
	command: string;
	args?: readonly string[];
}

/** A receiver of the README, and the runtime for it. */
export interface ReceiverProgram extends Runtime {
	program: string;
}

export const QUERY = "?shop=42&next=%2Fa%20b";
export const PATH = `/postback${QUERY}`;

const VECTORS = new URL("../../receiver/vectors.json", import.meta.url);

/** Checks that the program processes each valid event once, and nothing else. */
export async function checkProgram(shop: ShopFolder, { command, args = [], program }: ReceiverProgram) {
	const started = await shop.listen(command, [...args, program], SECRET);
	await checkReceiver(started.program, started.origin, PATH);
	await started.program.stop();
}

/** Checks that work that blocks the thread forever does not delay the answer. */
export async function checkBusyProgram(shop: ShopFolder, { command, args = [], program }: ReceiverProgram) {
	const started = await shop.listen(command, [...args, `busy-${program}`], SECRET);
	equal(await sendDelivery(started.origin, freshDelivery({ path: PATH })), 204);
	ok(!started.program.output.includes("for order"), "the work was not replaced");
	await started.program.stop();
}

/** Checks that the shared vectors verify, and that no altered one does. */
export async function checkVectors({ folder }: ShopFolder, { command, args = [] }: Runtime) {
	writeFileSync(join(folder, "vectors.mjs"), VECTORS_PROGRAM);
	const { vectors } = JSON.parse(readFileSync(VECTORS, "utf8"));
	ok(vectors.length >= 10);
	const said = await runProgram(command, [...args, "vectors.mjs"], folder);
	match(said, new RegExp(`^checked ${vectors.length}$`, "m"));
}

/** Checks that the package's command starts by the name that a shop types. */
export async function checkCommand({ folder }: ShopFolder, { command }: Runtime) {
	const args = [join(folder, "node_modules/.bin/ringback"), "--help"];
	match(await runProgram(command, args, folder), /^ {2}listen /m);
}

/**
 * Checks the durable store on a Node with node:sqlite: it answers 503 while it cannot write, accepts the same
 * request afterwards, and survives its process.
 */
export async function checkLastingStore(shop: ShopFolder, { command }: Runtime) {
	const file = join(shop.folder, "callbacks.db");
	const settings = { ...SECRET, DATABASE_FILE: file };
	const { program, origin } = await shop.listen(command, ["durable.mjs"], settings);
	const other = new DatabaseSync(file);
	const delivery = freshDelivery();
	other.exec("BEGIN EXCLUSIVE");
	equal(await sendDelivery(origin, delivery), 503);
	await program.said(/database is locked/);
	other.exec("COMMIT");
	equal(await sendDelivery(origin, delivery), 204);
	await program.said(/conversion\.rejected for order A-1001/);
	equal(await sendDelivery(origin, repeatDelivery()), 204);
	await program.stop();
	deepEqual(countRows(other), { all: 1, done: 1 });

	// A process that was killed between the answer and the work leaves this row.
	const left = { ...sampleEvent, conversionId: "cnv_left", orderId: "LEFT-1" };
	other
		.prepare("INSERT INTO ringback_callbacks (conversion_id, event, body) VALUES (?, ?, ?)")
		.run(left.conversionId, left.event, JSON.stringify(left));
	const again = await shop.listen(command, ["durable.mjs"], settings);
	await again.program.said(/conversion\.rejected for order LEFT-1/);
	equal(await sendDelivery(again.origin, repeatDelivery()), 204, "a repeat after the restart");
	await again.program.stop();
	ok(!again.program.output.includes("A-1001"), "it was worked on again after the restart");
	deepEqual(countRows(other), { all: 2, done: 2 });
	other.close();
}

function countRows(database: DatabaseSync) {
	return { ...database.prepare("SELECT count(*) AS 'all', sum(done) AS done FROM ringback_callbacks").get() };
}
