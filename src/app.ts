// All routes of a process that serves shops and people, in one place. Tests call the app in process, without
// a socket. A worker process never loads this file, because pages and sign-in are most of the code.

import { Hono } from "hono";
import { answerInTime, TOO_SLOW } from "./api/answer-deadline.ts";
import { answerFailures, createBareApp, mountHealth, refuseOtherMethods } from "./api/bare-app.ts";
import { CLICK_ROUTE, type Clicks, createClicks, keepToClicks } from "./api/click.ts";
import type { AppContext, AppDeps, AppEnv } from "./api/deps.ts";
import { EventStreams } from "./api/event-streams.ts";
import { createGetConversions, getConversion } from "./api/get-conversions.ts";
import { createGetEvents } from "./api/get-events.ts";
import { getProgramme } from "./api/get-programme.ts";
import { callerBlock, createRefusalLog, readInboundCall } from "./api/inbound-log.ts";
import { createIntake } from "./api/intake.ts";
import { createApiDocument, createDocumentAnswer } from "./api/openapi/document.ts";
import { createPixel, pixelImage } from "./api/pixel.ts";
import { createPosts } from "./api/post-conversions.ts";
import { createPostEventAnswers } from "./api/post-event-answers.ts";
import { problemAnswer } from "./api/problem.ts";
import { createSignedCalls, type Endpoint, type SignedCalls } from "./api/signed-call.ts";
import { honoPath, type TokenApiDeps } from "./api/token-api/route.ts";
import { createTokenCalls } from "./api/token-api/token-call.ts";
import { createPartnerLinkCache } from "./clicks/partner-link-cache.ts";
import { type Admission, createAdmission } from "./concurrency/admission.ts";
import { createSubTotals } from "./conversions/sub-totals.ts";
import { createNetworkTallies } from "./conversions/tally.ts";
import { fault, faultOf } from "./domain/fault.ts";
import { createAuth } from "./people/auth.ts";
import { createCallers } from "./programmes/callers.ts";
import { recordOf } from "./request-notes.ts";
import { SITE_LISTS, TOKEN_CALLS } from "./site-modules.ts";
import type { WebDeps } from "./web/page.ts";
import { createSite } from "./web/site.ts";

/**
 * Route pattern of the pixel in metrics and logs. It does not contain the programme id, because callers can
 * send any text as the id.
 */
const PIXEL_ROUTE = "/pixel/:programme.gif";

const TOO_MANY_WAIT = fault(
	"unavailable",
	"More requests wait than we can answer at the moment. Ask again in a few seconds.",
);

/** Returns the endpoints of the signed API by path and method. */
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
		"/v1/programme": new Map([["GET", getProgramme]]),
		"/v1/approvals": new Map([["POST", posts.approvals]]),
		"/v1/rejections": new Map([["POST", posts.rejections]]),
		"/v1/reversals": new Map([["POST", posts.reversals]]),
		"/v1/refunds": new Map([["POST", posts.refunds]]),
		"/v1/events": new Map([["GET", createGetEvents(deps, new EventStreams(deps))]]),
		"/v1/events/answers": new Map([["POST", createPostEventAnswers()]]),
	};
}

export type AllDeps = AppDeps & Omit<WebDeps, "auth" | "admission" | "networkTallies" | "subTotals">;

export function createApp(deps: AllDeps): Hono<AppEnv> & Pick<Clicks, "answerAtOnce"> {
	const refusals = createRefusalLog(deps);
	const admission = createAdmission(deps);
	const shared = {
		callers: createCallers(deps, deps.network.wire),
		intake: createIntake(deps),
		refusals,
		admission,
	};
	const signedCalls = createSignedCalls(deps, shared);
	// API calls and clicks arrive thousands of times a second. They have an app of their own, because Hono
	// finds a route faster among a few than among all.
	const app = new Hono<AppEnv>();
	answerFailures(app, deps);
	if (deps.clickUrl !== deps.publicUrl) app.use(keepToClicks(deps.clickUrl, deps));
	for (const [path, endpoints] of Object.entries(signedRoutes(deps))) {
		// The endpoint is chosen by the request's own method, because Hono routes HEAD as GET and a signed HEAD has no meaning.
		app.all(path, (c: AppContext) => {
			noteRoute(c, path);
			const endpoint = endpoints.get(c.req.method);
			if (endpoint !== undefined) {
				const serve = () => signedCalls.serve(c, endpoint);
				return answerInTime(c, deps.clock, serve, () => problemAnswer(deps, TOO_SLOW));
			}
			return refuseMethod(c, deps, signedCalls, "api", [...endpoints.keys()]);
		});
	}
	const answerPixel = createPixel(deps, shared);
	// A HEAD request is refused, because it does not report a sale, and an image as the answer would suggest
	// that it did.
	app.all("/pixel/*", (c: AppContext) => {
		noteRoute(c, PIXEL_ROUTE);
		if (c.req.method !== "GET") return refuseMethod(c, deps, signedCalls, "pixel", ["GET"]);
		return answerInTime(c, deps.clock, () => answerPixel(c), pixelImage);
	});
	const clicks = createClicks({ ...deps, admission, partnerLinks: createPartnerLinkCache(deps) });
	app.get("/c/*", (c: AppContext) => {
		noteRoute(c, CLICK_ROUTE);
		return clicks.answer(c);
	});
	const rest = createBareApp(deps, signedCalls);
	// Pages and the API show the same totals, so they are counted once.
	const counts = { networkTallies: createNetworkTallies(deps), subTotals: createSubTotals(deps) };
	mountTokenCalls(rest, { ...deps, ...counts }, signedCalls, admission);
	app.notFound((c) => rest.fetch(c.req.raw, c.env));
	mountHealth(rest, deps, admission);
	const apiDocument = createApiDocument(deps, TOKEN_CALLS);
	const answerDocument = createDocumentAnswer(apiDocument);
	rest.get("/openapi.json", async (c) => {
		const leave = await admission.admit("pages", callerBlock(c, deps) ?? "private addresses");
		if (leave === undefined) return problemAnswer(deps, TOO_MANY_WAIT);
		await deps.network.read().finally(leave);
		return answerDocument();
	});
	refuseOtherMethods(rest, deps, ["/openapi.json"]);
	rest.route("/", createSite({ ...deps, auth: createAuth(deps), admission, ...counts }, SITE_LISTS));
	// The routes are copied, because tests need the list of all routes.
	app.routes.push(...rest.routes);
	return Object.assign(app, { answerAtOnce: clicks.answerAtOnce });
}

/** Adds the calls of the network's and the partners' APIs, which are rare in comparison with those of shops. */
function mountTokenCalls(
	app: Hono<AppEnv>,
	deps: TokenApiDeps,
	signedCalls: SignedCalls,
	admission: Admission,
): void {
	const tokenCalls = createTokenCalls(deps, { admission, refuse: signedCalls.refuse });
	for (const [path, routes] of Map.groupBy(TOKEN_CALLS, honoPath)) {
		app.all(path, (c: AppContext) => {
			noteRoute(c, path);
			const route = routes.find(({ method }) => method === c.req.method);
			if (route !== undefined) return tokenCalls.serve(c, route);
			const methods = routes.map(({ method }) => method);
			return refuseMethod(c, deps, signedCalls, "api", methods);
		});
	}
}

/**
 * Records the route of a frequent request. The route is known, and asking Hono for it would cost too much.
 */
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
