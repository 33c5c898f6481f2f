// The test server itself: real, durable over a restart, and gone at the end, whatever the end was.

import { equal, match, rejects } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { test } from "node:test";
import pg from "pg";
import { startPostgres } from "./postgres.ts";

test("it keeps its data over a restart, syncs to disk unless told otherwise, and leaves nothing behind", async () => {
	const server = await startPostgres();
	const url = await server.createDatabase("kept");
	await ask(url, "create table kept (id integer)");
	await server.restart();
	equal(await ask(url, "select count(*)::int as value from kept"), 0);
	equal(await ask(url, "select current_setting('fsync') as value"), "on");
	match(String(await ask(url, "select version() as value")), /^PostgreSQL 18\./);
	const folder = String(await ask(url, "select current_setting('data_directory') as value"));
	await server.stop();
	equal(existsSync(folder), false);
	await rejects(ask(url, "select 1 as value"));
});

test("it stops and removes its folder when the process that started it is killed", async () => {
	const program = `
		import { startPostgres } from ${JSON.stringify(new URL("postgres.ts", import.meta.url).href)};
		const server = await startPostgres({ settings: { fsync: "off" } });
		console.log(server.url());
		setInterval(() => undefined, 1_000);`;
	const starter = spawn(process.execPath, ["--input-type=module", "--eval", program], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	const [output] = await once(starter.stdout, "data");
	const url = String(output).trim();
	const folder = String(await ask(url, "select current_setting('data_directory') as value"));
	equal(existsSync(folder), true);
	starter.kill("SIGKILL");
	while (existsSync(folder)) await new Promise((resolve) => setTimeout(resolve, 50));
	await rejects(ask(url, "select 1 as value"));
});

async function ask(url: string, statement: string): Promise<unknown> {
	const client = new pg.Client({ connectionString: url });
	await client.connect();
	try {
		return (await client.query<{ value: unknown }>(statement)).rows[0]?.value;
	} finally {
		await client.end();
	}
}
