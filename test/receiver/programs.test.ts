// The README's programs, run as they stand with the packed package: on every runtime and with every framework
// that the package names.

import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { sampleEvent } from "../../receiver/src/sample-delivery.ts";
import { createPostgresAtHand } from "../support/postgres-at-hand.ts";
import { until } from "../support/until.ts";
import { checkTypes } from "./check-types.ts";
import { FRAMEWORK_CONSUMER } from "./consumer-programs.ts";
import { checkReceiver, freshDelivery, repeatDelivery, SECRET, sendDelivery } from "./delivery-cases.ts";
import { type Frameworks, openFrameworks } from "./framework-folder.ts";
import { type PackedPackage, packPackage } from "./packed-package.ts";
import { makeBusy, readPrograms, writePrograms } from "./readme-programs.ts";
import { type RunningProgram, runProgram, type Settings, startProgram } from "./run-program.ts";
import { SHUTDOWNS, WAITING_WORK } from "./shutdowns.ts";
import { TRAPS } from "./traps.ts";
import { VECTORS_PROGRAM } from "./vectors-program.ts";

const VECTORS = new URL("../../receiver/vectors.json", import.meta.url);

const QUERY = "?shop=42&next=%2Fa%20b";
const PATH = `/postback${QUERY}`;
/** Frameworks do not all say where they listen. */
const ANNOUNCE = `data:text/javascript,${encodeURIComponent(`
	import { Server } from "node:net";
	const { emit } = Server.prototype;
	Server.prototype.emit = function (name, ...more) {
		if (name === "listening") console.log("listening on " + this.address().port);
		return emit.call(this, name, ...more);
	};
`)}`;
const LISTENING = /[Ll]istening on (?:http:\/\/127\.0\.0\.1:)?(\d+)/;

interface Runtime {
	title: string;
	/** Of the frameworks' folder; without it this Node. */
	command?: string;
	args?: readonly string[];
}

const RUNTIMES: readonly Runtime[] = [
	{ title: "Node 26" },
	{ title: "Node 20", command: "node20/bin/node" },
	{ title: "Node 18", command: "node18/bin/node" },
	{
		title: "Deno",
		command: ".bin/deno",
		args: ["run", "--no-remote", "--allow-net=127.0.0.1", "--allow-env", "--allow-read"],
	},
	{ title: "Bun", command: ".bin/bun" },
];

interface Server extends Runtime {
	program: string;
	needsFrameworks: boolean;
}

const PROGRAM_BY_RUNTIME: Readonly<Record<string, string>> = { Deno: "deno.mjs", Bun: "bun.mjs" };
const SERVERS: readonly Server[] = [
	...RUNTIMES.map((runtime) => ({
		...runtime,
		program: PROGRAM_BY_RUNTIME[runtime.title] ?? "receiver.mjs",
		needsFrameworks: runtime.command !== undefined,
	})),
	...["Express", "Fastify", "Hono"].map((title) => ({
		title,
		program: `${title.toLowerCase()}.mjs`,
		args: ["--import", ANNOUNCE],
		needsFrameworks: true,
	})),
];

let frameworks: Frameworks;
let packed: PackedPackage;
let folder: string;
const running = new Set<RunningProgram>();

before(async () => {
	frameworks = await openFrameworks();
	packed = await packPackage();
	// Below the frameworks' folder, so that a program finds them as it would find its own.
	folder = mkdtempSync(join(frameworks.isThere ? frameworks.folder : tmpdir(), "shop-"));
	await packed.installInto(folder);
	writePrograms(readPrograms(), folder);
	writePrograms(makeBusy(readPrograms()), folder);
});

after(async () => {
	for (const program of running) await program.stop();
	rmSync(folder, { recursive: true });
	packed.remove();
});

describe("the README's receiver takes what it should, once, and nothing else", () => {
	for (const server of SERVERS) {
		test(server.title, async (t) => {
			if (isMissing(server, t)) return;
			const { program, origin } = await startServer(server);
			await checkReceiver(program, origin, PATH);
			await end(program);
		});
	}

	test("Next.js, built for production", async (t) => {
		if (isMissing({ needsFrameworks: true }, t)) return;
		const next = join(folder, "../node_modules/next/dist/bin/next");
		const settings = { NEXT_TELEMETRY_DISABLED: "1" };
		const config = { turbopack: { root: join(folder, "..") } };
		writeFileSync(join(folder, "next.config.mjs"), `export default ${JSON.stringify(config)};\n`);
		const route = readPrograms().get("app/postback/route.js") ?? "";
		const withPath = route.replace(
			"after,\n})",
			`after,\n\tpath: ${JSON.stringify(`/restored${QUERY}`)},\n})`,
		);
		notEqual(withPath, route);
		writePrograms(new Map([["app/restored/route.js", withPath]]), folder);
		// No secret is set here, as on a machine that only builds.
		await runProgram(process.execPath, [next, "build"], folder, settings);
		const args = ["--import", ANNOUNCE, next, "start", "--hostname", "127.0.0.1", "--port", "0"];
		const { program, origin } = await startListening(process.execPath, args, { ...settings, ...SECRET });
		// Next.js writes such a query anew, and then it is no longer what was signed; unless `path` tells.
		equal(await sendDelivery(origin, freshDelivery({ path: `/postback${QUERY}` })), 401);
		const other = JSON.stringify({ ...sampleEvent, orderId: "RESTORED" });
		equal(await sendDelivery(origin, freshDelivery({ path: `/restored${QUERY}`, rawBody: other })), 204);
		await program.said(/for order RESTORED/);
		await checkReceiver(program, origin, "/postback?shop=42");
		await end(program);
	});
});

describe("work that never ends and holds the thread does not keep the answer back", () => {
	for (const server of SERVERS) {
		test(server.title, async (t) => {
			if (isMissing(server, t)) return;
			const { program, origin } = await startServer({ ...server, program: `busy-${server.program}` });
			equal(await sendDelivery(origin, freshDelivery({ path: PATH })), 204);
			ok(!program.output.includes("for order"), "the work was not replaced");
			await end(program);
		});
	}
});

describe("what a framework can do to a delivery", () => {
	for (const { title, source, path = PATH, status, log } of TRAPS) {
		test(title, async (t) => {
			if (isMissing({ needsFrameworks: true }, t)) return;
			writeFileSync(join(folder, "trap.mjs"), source);
			const args = ["--import", ANNOUNCE, "trap.mjs"];
			const { program, origin } = await startListening(process.execPath, args, SECRET);
			equal(await sendDelivery(origin, freshDelivery({ path })), status);
			await program.said(log);
			await end(program);
		});
	}
});

test("the README's receiver does not start without a secret, and says so", async () => {
	const program = startProgram(process.execPath, ["receiver.mjs"], folder);
	running.add(program);
	await program.said(/TypeError: secret is empty: give the programme's signing secret/);
	await end(program);
});

describe("the README's lasting store answers 503 while it cannot write, and takes the same request afterwards", () => {
	for (const [index, { title, command }] of RUNTIMES.filter(isNode).entries()) {
		test(title, async (t) => {
			if (isMissing({ needsFrameworks: command !== undefined }, t)) return;
			if (command !== undefined && !(await hasSqlite(commandOf(command)))) {
				// The README says which Node has it; this test's own does.
				t.skip("this Node has no node:sqlite");
				return;
			}
			await checkLastingStore(commandOf(command), join(folder, `callbacks-${index}.db`));
		});
	}
});

async function hasSqlite(command: string): Promise<boolean> {
	const program = 'console.log(require("node:module").builtinModules.some((name) => /sqlite/.test(name)))';
	return /^true$/m.test(await runProgram(command, ["--eval", program], folder));
}

async function checkLastingStore(command: string, file: string): Promise<void> {
	const settings = { ...SECRET, DATABASE_FILE: file };
	const { program, origin } = await startListening(command, ["durable.mjs"], settings);
	const other = new DatabaseSync(file);
	const delivery = freshDelivery();
	other.exec("BEGIN EXCLUSIVE");
	equal(await sendDelivery(origin, delivery), 503);
	await program.said(/database is locked/);
	other.exec("COMMIT");
	equal(await sendDelivery(origin, delivery), 204);
	await program.said(/conversion\.rejected for order A-1001/);
	equal(await sendDelivery(origin, repeatDelivery()), 204);
	await end(program);
	deepEqual(countRows(other), { all: 1, done: 1 });

	// A process that was killed between the answer and the work leaves this behind.
	const left = { ...sampleEvent, conversionId: "cnv_left", orderId: "LEFT-1" };
	other
		.prepare("INSERT INTO callbacks (conversion_id, event, body) VALUES (?, ?, ?)")
		.run(left.conversionId, left.event, JSON.stringify(left));
	const again = await startListening(command, ["durable.mjs"], settings);
	await again.program.said(/conversion\.rejected for order LEFT-1/);
	equal(await sendDelivery(again.origin, repeatDelivery()), 204, "a repeat after the restart");
	await end(again.program);
	ok(!again.program.output.includes("A-1001"), "it was worked on again after the restart");
	deepEqual(countRows(other), { all: 2, done: 2 });
	other.close();
}

test("the README's store for a table of PostgreSQL stores each event once, also when it comes twice at once", async () => {
	const { createTableStore } = await import(pathToFileURL(join(folder, "table-store.mjs")).href);
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

describe("a process that is told to end as the README says takes nothing more, and ends when its work is done", () => {
	const readme = { title: "Express, in the README", source: readPrograms().get("shutdown.mjs") ?? "" };
	for (const { title, source } of [readme, ...SHUTDOWNS]) {
		test(title, async (t) => {
			if (isMissing({ needsFrameworks: true }, t)) return;
			const waiting = source.replace(/^function work\(event\) \{/m, WAITING_WORK);
			ok(waiting.includes(WAITING_WORK));
			writeFileSync(join(folder, "ending.mjs"), waiting);
			const args = ["--import", ANNOUNCE, "ending.mjs"];
			const { program, origin } = await startListening(process.execPath, args, SECRET);
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
			running.delete(program);
		});
	}
});

function isUnreachable(origin: string): Promise<boolean> {
	return fetch(origin, { headers: { connection: "close" } }).then(
		() => false,
		() => true,
	);
}

test("the README's receiver for the edge hands its work to waitUntil", async () => {
	const worker = await import(pathToFileURL(join(folder, "worker.mjs")).href);
	const { path, headers, rawBody } = freshDelivery();
	const request = new Request(`https://shop.example${path}`, { method: "POST", headers, body: `${rawBody}` });
	const waitedFor: Promise<unknown>[] = [];
	const context = { waitUntil: (promise: Promise<unknown>) => waitedFor.push(promise) };
	equal((await worker.default.fetch(request, SECRET, context)).status, 204);
	equal(waitedFor.length, 1);
	await Promise.all(waitedFor);
});

test("the README's shared nonces refuse a copy, and take what could not be stored once more", async () => {
	const { createRedisNonces } = await import(pathToFileURL(join(folder, "redis-nonces.mjs")).href);
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

describe("the shared vectors are known, and none is taken altered", () => {
	for (const { title, command, args = [] } of RUNTIMES) {
		test(title, async (t) => {
			if (isMissing({ needsFrameworks: command !== undefined }, t)) return;
			writeFileSync(join(folder, "vectors.mjs"), VECTORS_PROGRAM);
			const { vectors } = JSON.parse(readFileSync(VECTORS, "utf8"));
			ok(vectors.length >= 10);
			const said = await runProgram(commandOf(command), [...args, "vectors.mjs"], folder);
			match(said, new RegExp(`^checked ${vectors.length}$`, "m"));
		});
	}
});

describe("the package's command starts by the name a shop types", () => {
	for (const { title, command } of RUNTIMES.filter(isNode)) {
		test(title, async (t) => {
			if (isMissing({ needsFrameworks: command !== undefined }, t)) return;
			const args = [join(folder, "node_modules/.bin/ringback"), "--help"];
			match(await runProgram(commandOf(command), args, folder), /^ {2}listen /m);
		});
	}
});

test("the adapters fit the frameworks' own types", async (t) => {
	if (isMissing({ needsFrameworks: true }, t)) return;
	const options = {
		module: "nodenext",
		moduleResolution: "nodenext",
		lib: ["es2022", "dom"],
		types: ["node"],
	};
	// Theirs are not ours to check.
	await checkTypes(folder, { "frameworks.ts": FRAMEWORK_CONSUMER }, { ...options, skipLibCheck: true });
});

function isNode({ title }: Runtime): boolean {
	return title.startsWith("Node");
}

async function startServer(server: Server): Promise<{ program: RunningProgram; origin: string }> {
	const { command, args = [], program } = server;
	return startListening(commandOf(command), [...args, program], SECRET);
}

function commandOf(command: string | undefined): string {
	return command === undefined ? process.execPath : join(folder, "../node_modules", command);
}

async function startListening(
	command: string,
	args: readonly string[],
	settings: Settings,
): Promise<{ program: RunningProgram; origin: string }> {
	const program = startProgram(command, args, folder, { PORT: "0", ...settings });
	running.add(program);
	const [, port = ""] = await program.said(LISTENING);
	match(port, /^[1-9]\d*$/);
	return { program, origin: `http://127.0.0.1:${port}` };
}

async function end(program: RunningProgram): Promise<void> {
	await program.stop();
	running.delete(program);
}

function isMissing({ needsFrameworks }: Pick<Server, "needsFrameworks">, t: TestContext): boolean {
	if (!needsFrameworks || frameworks.isThere) return false;
	// Without a registry there is nothing to show it with; the reason names it.
	t.skip(frameworks.reason);
	return true;
}

function countRows(database: DatabaseSync) {
	return { ...database.prepare("SELECT count(*) AS 'all', sum(done) AS done FROM callbacks").get() };
}
