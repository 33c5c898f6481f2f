// The baseline for accepting sales. It is the same server, with the same parsing and the same check of caller
// and signature, but it stores nothing before it sends an answer of the usual size. The argument is the URL
// of the database with the shops. The process sends its URL to its parent and ends with it.

import { Hono } from "hono";
import { readBody } from "#core/api/read-request.ts";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { createCallers } from "#core/programmes/callers.ts";
import { givenWire } from "#core/store/network-cache.ts";
import { openStore } from "#core/store/open.ts";
import { realClock } from "../src/outside/clock.ts";
import { listen, PUBLIC_LIMITS } from "../src/outside/http-server.ts";
import { createLog } from "../src/outside/log.ts";
import { BENCH_IDENTITY, databaseSetting } from "./database.ts";
import { BENCH_SEALING_KEY } from "./seed-shops.ts";

const [databaseUrl = ""] = process.argv.slice(2);
const { log } = createLog("error", BENCH_IDENTITY);
const store = openStore(databaseSetting(databaseUrl), { clock: realClock, log, name: "ringback-bench" });
const deps = { store, clock: realClock, keyRing: createKeyRing([BENCH_SEALING_KEY]) };
const callers = createCallers(deps, givenWire("Service"));
const ANSWER = JSON.stringify({ outcome: "RECORDED", conversion: { id: "x".repeat(450) } });
const HEADERS = { "content-type": "application/json", "cache-control": "no-store" };

const app = new Hono<{ Bindings: { incoming?: { url?: string } } }>();
app.post("/v1/conversions", async (c) => {
	const header = (name: string) => c.req.header(name);
	const key = await callers.findKey(header("authorization"));
	const body = await readBody(c.req.raw);
	if (!key.ok || !body.ok) return new Response("", { status: 400 });
	const result = await callers.verify(key.value, {
		method: c.req.method,
		target: c.env.incoming?.url ?? "",
		header,
		rawBody: body.value,
	});
	return result.ok
		? new Response(ANSWER, { status: 201, headers: HEADERS })
		: new Response(result.fault.code, { status: 401 });
});
const server = await listen({ host: "127.0.0.1", port: 0, limits: PUBLIC_LIMITS, log });
server.serve(app);
process.send?.({ url: server.url });
process.on("disconnect", () => process.exit());
