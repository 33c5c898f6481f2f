// All routes of a process that serves shops and people, in one place. Tests call the app in process, without
// a socket. A worker process never loads this file, because pages and sign-in are most of the code.

import { Hono } from "hono";
import { answerInTime, TOO_SLOW } from "#core/api/answer-deadline.ts";
import { answerFailures, createBareApp, mountHealth, refuseOtherMethods } from "#core/api/bare-app.ts";
import type { AppContext, AppDeps, AppEnv } from "#core/api/deps.ts";
import { callerBlock, createRefusalLog, readInboundCall } from "#core/api/inbound-log.ts";
import { createIntake } from "#core/api/intake.ts";
import { createApiDocument, createDocumentAnswer } from "#core/api/openapi/document.ts";
import { createPixel, pixelImage } from "#core/api/pixel.ts";
import { problemAnswer } from "#core/api/problem.ts";
import { honoPath } from "#core/api/route.ts";
import { createSignedCalls, type Endpoint, type SignedCalls } from "#core/api/signed-call.ts";
import { createNetworkTallies } from "#core/conversions/tally.ts";
import { fault, faultOf } from "#core/domain/fault.ts";
import { createAuth } from "#core/people/auth.ts";
import { createCallers } from "#core/programmes/callers.ts";
import { recordOf } from "#core/request-notes.ts";
import type { WebDeps } from "#core/web/page.ts";
import { createSite } from "#core/web/site.ts";
import { CLICK_ROUTE, type Clicks, createClicks, keepToClicks } from "#modules/partners/api/click.ts";
import { createPartnerLinkCache } from "#modules/partners/use-cases/partner-link-cache.ts";
import { createSubTotals } from "#modules/partners/use-cases/sub-totals.ts";
import type { TokenApiDeps } from "#modules/token-api/api/route.ts";
import { createTokenCalls } from "#modules/token-api/api/token-call.ts";
import { type Admission, createAdmission } from "./concurrency/admission.ts";
import { API, SIGNED_ROUTES, SITE_LISTS, TOKEN_CALLS } from "./site-modules.ts";

/**
 * Route pattern of the pixel in metrics and logs. It does not contain the programme id, because callers can
 * send any text as the id.
 */
const PIXEL_ROUTE = "/pixel/:programme.gif";

const TOO_MANY_WAIT = fault(
	"unavailable",
	"More requests wait than we can answer at the moment. Ask again in a few seconds.",
);

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
	for (const [path, routes] of Map.groupBy(SIGNED_ROUTES, honoPath)) {
		const endpoints = new Map<string, Endpoint>(routes.map(({ method, plan }) => [method, plan(deps)]));
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
	const apiDocument = createApiDocument(deps, API);
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
