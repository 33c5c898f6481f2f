// Every route of a process that answers shops and people, in one place. Tested in process: a request goes in, an answer
// comes out, and no socket is opened. A worker never loads it: pages and sign-in are most of what there is to load.

import { Hono } from "hono";
import { answerFailures, createBareApp, mountHealth, refuseOtherMethods } from "./api/bare-app.ts";
import { CLICK_ROUTE, type Clicks, createClicks, keepToClicks } from "./api/click.ts";
import type { AppContext, AppDeps, AppEnv } from "./api/deps.ts";
import { createGetConversions, getConversion } from "./api/get-conversions.ts";
import { createGetEvents } from "./api/get-events.ts";
import { callerBlock, createRefusalLog, readInboundCall } from "./api/inbound-log.ts";
import { createIntake } from "./api/intake.ts";
import { createApiDocument, createDocumentAnswer } from "./api/openapi/document.ts";
import { createPixel } from "./api/pixel.ts";
import { createPosts } from "./api/post-conversions.ts";
import { createPostEventAnswers } from "./api/post-event-answers.ts";
import { problemAnswer } from "./api/problem.ts";
import { createSignedCalls, type Endpoint, type SignedCalls } from "./api/signed-call.ts";
import { createPartnerLinkCache } from "./clicks/partner-link-cache.ts";
import { createAdmission } from "./concurrency/admission.ts";
import { fault, faultOf } from "./domain/fault.ts";
import { createAuth } from "./people/auth.ts";
import { createCallers } from "./programmes/callers.ts";
import { recordOf } from "./request-notes.ts";
import type { WebDeps } from "./web/page.ts";
import { createSite } from "./web/site.ts";

/** As it is counted: the programme in it is the caller's own. */
const PIXEL_ROUTE = "/pixel/:programme.gif";

const TOO_MANY_WAIT = fault(
	"unavailable",
	"More requests wait than we can answer at the moment. Ask again in a few seconds.",
);

/** By path, then by method. */
function signedRoutes(deps: AppDeps): Readonly<Record<string, ReadonlyMap<string, Endpoint>>> {
	const posts = createPosts(deps);
	return {
		"/v1/conversions": new Map([
			["GET", createGetConversions(deps)],
			["POST", posts.conversions],
		]),
		"/v1/conversions/batch": new Map([["POST", posts.conversionsBatch]]),
		"/v1/decisions/batch": new Map([["POST", posts.decisionsBatch]]),
		"/v1/conversions/:id": new Map([["GET", getConversion]]),
		"/v1/approvals": new Map([["POST", posts.approvals]]),
		"/v1/rejections": new Map([["POST", posts.rejections]]),
		"/v1/reversals": new Map([["POST", posts.reversals]]),
		"/v1/events": new Map([["GET", createGetEvents(deps)]]),
		"/v1/events/answers": new Map([["POST", createPostEventAnswers()]]),
	};
}

export type AllDeps = AppDeps & Omit<WebDeps, "auth" | "admission">;

export function createApp(deps: AllDeps): Hono<AppEnv> & Pick<Clicks, "answerAtOnce"> {
	const refusals = createRefusalLog(deps);
	const admission = createAdmission(deps);
	const ways = {
		callers: createCallers(deps, deps.network.wire),
		intake: createIntake(deps),
		refusals,
		admission,
	};
	const signedCalls = createSignedCalls(deps, ways);
	// These by themselves: they come thousands of times a second, and Hono finds one of a few paths sooner than one of all.
	const app = new Hono<AppEnv>();
	answerFailures(app, deps);
	if (deps.clickUrl !== deps.publicUrl) app.use(keepToClicks(deps.clickUrl));
	for (const [path, endpoints] of Object.entries(signedRoutes(deps))) {
		// Chosen by the request's own method: Hono routes HEAD as GET, but a signed HEAD means nothing here.
		app.all(path, (c: AppContext) => {
			noteRoute(c, path);
			const endpoint = endpoints.get(c.req.method);
			if (endpoint !== undefined) return signedCalls.serve(c, endpoint);
			return refuseMethod(c, deps, signedCalls, "api", [...endpoints.keys()]);
		});
	}
	const answerPixel = createPixel(deps, ways);
	// HEAD is refused: it reports nothing, and an image without a record would say the opposite.
	app.all("/pixel/*", (c: AppContext) => {
		noteRoute(c, PIXEL_ROUTE);
		return c.req.method === "GET" ? answerPixel(c) : refuseMethod(c, deps, signedCalls, "pixel", ["GET"]);
	});
	const clicks = createClicks({ ...deps, partnerLinks: createPartnerLinkCache(deps) });
	app.get("/c/*", (c: AppContext) => {
		noteRoute(c, CLICK_ROUTE);
		return clicks.answer(c);
	});
	const rest = createBareApp(deps, signedCalls);
	app.notFound((c) => rest.fetch(c.req.raw, c.env));
	mountHealth(rest, deps);
	const apiDocument = createApiDocument(deps);
	const answerDocument = createDocumentAnswer(apiDocument);
	rest.get("/openapi.json", async (c) => {
		const leave = await admission.admit("pages", callerBlock(c, deps) ?? "private addresses");
		if (leave === undefined) return problemAnswer(deps, TOO_MANY_WAIT);
		await deps.network.read().finally(leave);
		return answerDocument();
	});
	refuseOtherMethods(rest, deps, ["/openapi.json"]);
	rest.route("/", createSite({ ...deps, auth: createAuth(deps), admission }));
	// For whoever asks which there are: tests do.
	app.routes.push(...rest.routes);
	return Object.assign(app, { answerAtOnce: clicks.answerAtOnce });
}

/** Known without asking for it: these come thousands of times a second. */
function noteRoute(c: AppContext, route: string): void {
	const record = recordOf(c);
	if (record !== undefined) record.route = route;
}

function refuseMethod(
	c: AppContext,
	deps: AppDeps,
	signedCalls: SignedCalls,
	kind: "api" | "pixel",
	allowed: readonly string[],
): Promise<Response> {
	const allow = allowed.join(", ");
	const found = faultOf("method_not_allowed", { method: c.req.method, allow });
	return signedCalls.refuse(readInboundCall(c, deps, kind), found, { allow });
}
