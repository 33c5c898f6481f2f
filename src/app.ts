// Every route of the service in one place. Tested in process: a request goes in, an answer comes out, and no
// socket is opened.

import { Hono } from "hono";
import { createAuth } from "./accounts/auth.ts";
import { createKnownCallers } from "./accounts/known-callers.ts";
import type { AppContext, AppDeps, AppEnv } from "./api/deps.ts";
import type { Endpoint } from "./api/endpoint.ts";
import { createGetConversions, getConversion } from "./api/get-conversions.ts";
import { createGetEvents } from "./api/get-events.ts";
import { createHealth, type ProcessDetails } from "./api/health.ts";
import { readInboundCall } from "./api/inbound-call.ts";
import { createRefusalLog } from "./api/inbound-log.ts";
import { createIntake } from "./api/intake.ts";
import { createDocumentAnswer, describeApi } from "./api/openapi/document.ts";
import { createPixel } from "./api/pixel.ts";
import { createPostBatch } from "./api/post-batch.ts";
import { parseReport, postConversions } from "./api/post-conversions.ts";
import {
	namedDecisionRequest,
	parseDecisionItem,
	postApprovals,
	postRejections,
	postReversals,
} from "./api/post-decisions.ts";
import { describeProblem, ourFault, problemAnswer } from "./api/problem.ts";
import { createSignedCalls, type SignedCalls } from "./api/signed-call.ts";
import { reportRequest } from "./conversions/record.ts";
import { fault } from "./domain/fault.ts";
import type { WebDeps } from "./web/deps.ts";
import { createSite } from "./web/site.ts";

/** By path, then by method. */
function signedRoutes(deps: AppDeps): Readonly<Record<string, ReadonlyMap<string, Endpoint>>> {
	return {
		"/v1/conversions": new Map([
			["GET", createGetConversions(deps)],
			["POST", postConversions],
		]),
		"/v1/conversions/batch": new Map([["POST", createPostBatch(deps, parseReport, reportRequest)]]),
		"/v1/decisions/batch": new Map([
			["POST", createPostBatch(deps, parseDecisionItem, namedDecisionRequest)],
		]),
		"/v1/conversions/:id": new Map([["GET", getConversion]]),
		"/v1/approvals": new Map([["POST", postApprovals]]),
		"/v1/rejections": new Map([["POST", postRejections]]),
		"/v1/reversals": new Map([["POST", postReversals]]),
		"/v1/events": new Map([["GET", createGetEvents(deps)]]),
	};
}

/**
 * On every answer that has none of its own, also on JSON and the pixel: a browser that is led to one must not
 * make more of it. Pages have their own: web/access.ts.
 */
const SECURITY_HEADERS = {
	"content-security-policy":
		"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"x-content-type-options": "nosniff",
	"referrer-policy": "no-referrer",
};

const NOTHING_HERE = "There is nothing at this address.";
const API_HINT = " Check the path: the API is below /v1/.";

export type AllDeps = AppDeps & Omit<WebDeps, "auth" | "apiDocument">;

export function createApp(deps: AllDeps): Hono<AppEnv> {
	const refusals = createRefusalLog(deps);
	const callers = createKnownCallers(deps);
	const ways = { callers, intake: createIntake({ ...deps, callers }), refusals };
	const signedCalls = createSignedCalls(deps, ways);
	const app = createBareApp(deps, signedCalls);
	for (const [path, endpoints] of Object.entries(signedRoutes(deps))) {
		// Chosen by the request's own method: Hono routes HEAD as GET, but a signed HEAD means nothing here.
		app.all(path, (c: AppContext) => {
			const endpoint = endpoints.get(c.req.method);
			if (endpoint !== undefined) return signedCalls.serve(c, endpoint);
			return refuseMethod(c, deps, signedCalls, "api", [...endpoints.keys()]);
		});
	}
	const answerPixel = createPixel(deps, ways);
	// HEAD is refused: it reports nothing, and an image without a record would say the opposite.
	app.all("/pixel/*", (c: AppContext) =>
		c.req.method === "GET" ? answerPixel(c) : refuseMethod(c, deps, signedCalls, "pixel", ["GET"]),
	);
	mountHealth(app, deps);
	app.get("/problems/:code", (c) => {
		const text = describeProblem(c.req.param("code"));
		return text === null ? c.notFound() : c.text(text);
	});
	const apiDocument = describeApi(deps);
	app.get("/openapi.json", createDocumentAnswer(apiDocument));
	refuseOtherMethods(app, deps, ["/openapi.json"]);
	app.route("/", createSite({ ...deps, auth: createAuth(deps), apiDocument }));
	return app;
}

/** For a process that only delivers callbacks: it tells load balancers and supervisors how it is, and takes nothing. */
export function createWorkerApp(deps: AppDeps): Hono<AppEnv> {
	const app = createBareApp(deps, null);
	mountHealth(app, deps);
	return app;
}

/** For the operator, on an address of its own: numbers tell how much is sold, and details what to attack. */
export function createMetricsApp(deps: AppDeps, about: ProcessDetails): Hono<AppEnv> {
	const app = createBareApp(deps, null);
	const health = createHealth(deps);
	app.get("/metrics", () => deps.metrics.answer());
	app.get("/health", () => health.answerDetails(about));
	refuseOtherMethods(app, deps, ["/metrics", "/health"]);
	return app;
}

function createBareApp(deps: AppDeps, signedCalls: SignedCalls | null): Hono<AppEnv> {
	const app = new Hono<AppEnv>();
	app.use(async (c, next) => {
		await next();
		for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
			if (!c.res.headers.has(name)) c.res.headers.set(name, value);
		}
	});
	app.onError((error, c) => {
		deps.log.error({ err: error, method: c.req.method, path: c.req.path }, "a request failed");
		return problemAnswer(deps, ourFault(error));
	});
	app.notFound((c) => {
		const found = fault("not_found", NOTHING_HERE + (signedCalls === null ? "" : API_HINT));
		// Others are scanners, who would only fill the log.
		const isOurs = c.req.path.startsWith("/v1/");
		if (signedCalls === null || !isOurs) return problemAnswer(deps, found);
		return signedCalls.refuse(readInboundCall(c, deps, "api"), found);
	});
	return app;
}

function refuseMethod(
	c: AppContext,
	deps: AppDeps,
	signedCalls: SignedCalls,
	kind: "api" | "pixel",
	allowed: readonly string[],
): Promise<Response> {
	const allow = allowed.join(", ");
	const found = fault("method_not_allowed", `${c.req.method} is not possible here. Use ${allow}.`);
	return signedCalls.refuse(readInboundCall(c, deps, kind), found, { allow });
}

function mountHealth(app: Hono<AppEnv>, deps: AppDeps): void {
	const health = createHealth(deps);
	app.get("/healthz", () => health.answerAlive());
	app.get("/readyz", () => health.answerReady());
	refuseOtherMethods(app, deps, ["/healthz", "/readyz"]);
}

/** To be called after the paths' own handlers: it takes what they leave. */
function refuseOtherMethods(app: Hono<AppEnv>, deps: AppDeps, paths: readonly string[]): void {
	for (const path of paths) {
		app.all(path, (c) => {
			const found = fault("method_not_allowed", `${c.req.method} is not possible here. Use GET.`);
			return problemAnswer(deps, found, { allow: "GET, HEAD" });
		});
	}
}
