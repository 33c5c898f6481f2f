// The baseline for clicks. It is the same server with the same limits, records and counts, but it gives the
// same answer to every request. It takes no arguments, sends its URL to its parent and ends with it.

import { Hono } from "hono";
import { listen, PUBLIC_LIMITS } from "../src/outside/http-server.ts";
import { createLog } from "../src/outside/log.ts";
import { createRandom } from "../src/outside/random.ts";
import { createMetrics } from "../src/watch/metrics.ts";
import { BENCH_IDENTITY } from "./database.ts";

const { log } = createLog("error", BENCH_IDENTITY);
/** The redirect is as long as that of a real click, whose click ID has 67 characters. */
const location = `https://shop.example/shoes?rbclick=${"x".repeat(67)}`;
const HEADERS = {
	"cache-control": "no-store",
	"referrer-policy": "no-referrer-when-downgrade",
	"content-length": "0",
	location,
};

const app = new Hono();
app.get("/c/*", () => new Response(null, { status: 302, headers: HEADERS }));
const { countRequest: onAnswered } = createMetrics([]);
const recording = { random: createRandom(), trustedProxies: [], onAnswered };
const server = await listen({ host: "127.0.0.1", port: 0, limits: PUBLIC_LIMITS, log, recording });
server.serve(app);
process.send?.({ url: server.url });
process.on("disconnect", () => process.exit());
