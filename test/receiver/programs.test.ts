// Tests the README's programs, run unchanged with the packed package, on this Node and in the frameworks that
// the install includes. test/receiver/runtimes covers the other runtimes and the large framework.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import pg from "pg";
import { sampleEvent } from "../../receiver/src/sample-delivery.test-support.ts";
import { createPostgresAtHand } from "../support/postgres.ts";
import { until } from "../support/until.ts";
import { checkTypes } from "./check-types.ts";
import { FRAMEWORK_CONSUMER } from "./consumer-programs.ts";
import { freshDelivery, SECRET, sendDelivery } from "./delivery-cases.ts";
import {
	checkBusyProgram,
	checkCommand,
	checkLastingStore,
	checkProgram,
	checkVectors,
	PATH,
	type ReceiverProgram,
} from "./program-cases.ts";
import { readPrograms } from "./readme-programs.ts";
import { ANNOUNCE, openShopFolder, type ShopFolder } from "./shop-folder.ts";
import { SHUTDOWNS, WAITING_WORK } from "./shutdowns.ts";
import { TRAPS } from "./traps.ts";

const MODULES = fileURLToPath(new URL("../../node_modules", import.meta.url));

const THIS_NODE: ReceiverProgram = { title: "Node 26", command: process.execPath, program: "receiver.mjs" };
const SERVERS: readonly ReceiverProgram[] = [
	THIS_NODE,
	...["Express", "Fastify", "Hono"].map((title) => ({
		title,
		command: process.execPath,
		args: ["--import", ANNOUNCE],
		program: `${title.toLowerCase()}.mjs`,
	})),
];

let parent: string;
let shop: ShopFolder;

before(async () => {
	parent = mkdtempSync(join(tmpdir(), "ringback-programs-"));
	symlinkSync(MODULES, join(parent, "node_modules"));
	shop = await openShopFolder(parent);
});

after(async () => {
	await shop.close();
	rmSync(parent, { recursive: true });
});

describe("the README's receiver processes each valid event once, and nothing else", () => {
	for (const server of SERVERS) test(server.title, () => checkProgram(shop, server));
});

describe("work that blocks the thread forever does not delay the answer", () => {
	for (const server of SERVERS) test(server.title, () => checkBusyProgram(shop, server));
});

describe("deliveries that a framework changes before the receiver sees them", () => {
	for (const { title, source, path = PATH, status, log } of TRAPS) {
		test(title, async () => {
			writeFileSync(join(shop.folder, "trap.mjs"), source);
			const args = ["--import", ANNOUNCE, "trap.mjs"];
			const { program, origin } = await shop.listen(process.execPath, args, SECRET);
			equal(await sendDelivery(origin, freshDelivery({ path })), status);
			await program.said(log);
			await program.stop();
		});
	}
});

test("the README's receiver does not start without a secret, and says so", async () => {
	const program = shop.start(process.execPath, ["receiver.mjs"]);
	await program.said(/TypeError: secret is empty: give the programme's signing secret/);
	await program.stop();
});

test("the README's durable store answers 503 while it cannot write, and accepts the same request afterwards", () =>
	checkLastingStore(shop, THIS_NODE));

test("the README's PostgreSQL store stores each event once, also when it arrives twice at once", async () => {
	const { createTableStore } = await import(pathToFileURL(join(shop.folder, "table-store.mjs")).href);
	const postgres = createPostgresAtHand();
	const { url, drop } = await postgres.createDatabase();
	const pool = new pg.Pool({ connectionString: url });
	await pool.query(
		"CREATE TABLE callbacks (conversion_id text, event text, body text NOT NULL, PRIMARY KEY (conversion_id, event))",
	);
	const store = createTableStore(pool);
	deepEqual((await Promise.all([store(sampleEvent), store(sampleEvent)])).sort(), ["seen", "stored"]);
	equal(await store({ ...sampleEvent, event: "conversion.reversed" }), "stored");
	equal(await store({ ...sampleEvent, conversionId: "cnv_other" }), "stored");
	await pool.query("DROP TABLE callbacks");
	await rejects(store(sampleEvent), /callbacks/);
	await pool.end();
	await drop();
	await postgres.stop();
});

describe("a process that stops as the README says accepts nothing more, and ends when its work is done", () => {
	const readme = { title: "Express, in the README", source: readPrograms().get("shutdown.mjs") ?? "" };
	for (const { title, source } of [readme, ...SHUTDOWNS]) {
		test(title, async () => {
			const waiting = source.replace(/^function work\(event\) \{/m, WAITING_WORK);
			ok(waiting.includes(WAITING_WORK));
			writeFileSync(join(shop.folder, "ending.mjs"), waiting);
			const args = ["--import", ANNOUNCE, "ending.mjs"];
			const { program, origin } = await shop.listen(process.execPath, args, SECRET);
			equal(await sendDelivery(origin, freshDelivery({ path: PATH })), 204);
			await program.said(/^begun$/m);
			program.send("SIGTERM");
			await until(
				() => isUnreachable(origin),
				() => `it still takes requests:\n${program.output}`,
			);
			program.send("SIGUSR2");
			equal(await program.ended(), 0, program.output);
			match(program.output, /^conversion\.rejected for order A-1001/m);
		});
	}
});

function isUnreachable(origin: string): Promise<boolean> {
	return fetch(origin, { headers: { connection: "close" } }).then(
		() => false,
		() => true,
	);
}

test("the README's receiver for the edge passes its work to waitUntil", async () => {
	const worker = await import(pathToFileURL(join(shop.folder, "worker.mjs")).href);
	const { path, headers, rawBody } = freshDelivery();
	const request = new Request(`https://shop.example${path}`, { method: "POST", headers, body: `${rawBody}` });
	const waitedFor: Promise<unknown>[] = [];
	const context = { waitUntil: (promise: Promise<unknown>) => waitedFor.push(promise) };
	equal((await worker.default.fetch(request, SECRET, context)).status, 204);
	equal(waitedFor.length, 1);
	await Promise.all(waitedFor);
});

test("the README's shared nonces refuse a copied callback, and accept one again that could not be stored", async () => {
	const { createRedisNonces } = await import(pathToFileURL(join(shop.folder, "redis-nonces.mjs")).href);
	const kept = new Map<string, number>();
	const redis = {
		set: async (key: string, _: string, { NX, PX }: { NX: boolean; PX: number }) => {
			if (!NX || kept.has(key)) return null;
			kept.set(key, PX);
			return "OK";
		},
		del: async (key: string) => kept.delete(key),
	};
	const nonces = createRedisNonces(redis);
	equal(await nonces.remember("ab12", 301_000), true);
	equal(await nonces.remember("ab12", 301_000), false);
	deepEqual([...kept], [["ringback:nonce:ab12", 301_000]]);
	await nonces.forget("ab12");
	equal(await nonces.remember("ab12", 301_000), true);
});

test("the shared vectors verify, and no altered one does", () => checkVectors(shop, THIS_NODE));

test("the package's command starts by the name that a shop types", () => checkCommand(shop, THIS_NODE));

test("the adapters fit the frameworks' own types", async () => {
	const options = {
		module: "nodenext",
		moduleResolution: "nodenext",
		lib: ["es2022", "dom"],
		types: ["node"],
	};
	// The frameworks' own declarations are not checked.
	await checkTypes(shop.folder, { "frameworks.ts": FRAMEWORK_CONSUMER }, { ...options, skipLibCheck: true });
});
