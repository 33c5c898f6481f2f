// The pages: all tables of routes, and before each route the guards it asks for.

import { Hono } from "hono";
import { createNetworkTallies } from "../conversions/network-tally.ts";
import { createTallies } from "../conversions/tally.ts";
import { requestIdOf, routeOf } from "../request-notes.ts";
import { createGuards, securePages } from "./access.ts";
import { ACCOUNT_ROUTES } from "./account/routes.ts";
import { mountAssets } from "./assets.ts";
import { EXPORT_LIMITS } from "./conversions/csv-answer.ts";
import { CONVERSION_ROUTES } from "./conversions/routes.ts";
import type { PageDeps, WebDeps } from "./deps.ts";
import { DOCS_ROUTES } from "./docs/routes.ts";
import { mountDownloads } from "./downloads.ts";
import type { WebContext, WebEnv } from "./env.ts";
import { answerError, errorCodeOf } from "./error-page.ts";
import { IMPORT_ROUTES } from "./import/routes.ts";
import { INTEGRATION_ROUTES } from "./integration/routes.ts";
import { LiveStreams } from "./live.ts";
import { NETWORK_ROUTES } from "./network/routes.ts";
import { mountNetworkAssets } from "./network-assets.ts";
import { NOTICE_ROUTES } from "./notices/routes.ts";
import { OVERVIEW_ROUTES } from "./overview/routes.ts";
import { DOWNLOADS_PATH } from "./paths.ts";
import { PEOPLE_ROUTES } from "./people/routes.ts";
import { PROGRAMME_ROUTES } from "./programmes/routes.ts";
import { REVIEW_ROUTES } from "./review/routes.ts";
import type { Access, Route } from "./routes.ts";
import { SIGN_IN_ROUTES } from "./sign-in/routes.ts";
import { createSlots } from "./slots.ts";
import { SYSTEM_ROUTES } from "./system/routes.ts";

/** The first that fits an address answers: fixed words stand before parameters. */
export const ROUTES: readonly Route[] = [
	...SIGN_IN_ROUTES,
	...DOCS_ROUTES,
	...ACCOUNT_ROUTES,
	...PROGRAMME_ROUTES,
	...OVERVIEW_ROUTES,
	...INTEGRATION_ROUTES,
	...PEOPLE_ROUTES,
	...NOTICE_ROUTES,
	...CONVERSION_ROUTES,
	...REVIEW_ROUTES,
	...NETWORK_ROUTES,
	...SYSTEM_ROUTES,
	...IMPORT_ROUTES,
];

export function createSite(webDeps: WebDeps): Hono<WebEnv> {
	const deps: PageDeps = {
		...webDeps,
		tallies: createTallies(webDeps),
		networkTallies: createNetworkTallies(webDeps),
		streams: new LiveStreams(webDeps),
		exportSlots: createSlots(EXPORT_LIMITS, webDeps.clock),
	};
	const site = new Hono<WebEnv>();
	site.onError((error, c) => {
		// The route and not the path: one-time links hold their token there.
		const route = routeOf(c) ?? "*";
		deps.log.error({ err: error, ...requestIdOf(c), method: c.req.method, route }, "a page failed");
		return answerError(c, errorCodeOf(error));
	});
	site.use("/assets/*", securePages);
	mountAssets(site);
	site.use(`${DOWNLOADS_PATH}/*`, securePages);
	mountDownloads(site);
	mountNetworkAssets(site, deps.store);

	const guardsOf = createGuards(deps);
	for (const route of ROUTES) {
		const guards = guardsOf(route);
		site.on([route.method], [route.path], ...guards, (c) => answerRoute(c, deps, route));
		const page = pageAbove(route);
		if (page === undefined) continue;
		// The address that a refused form left behind, opened again.
		site.on(["GET"], [route.path], ...guards, (c) => c.redirect(fillIn(c, page), 303));
	}
	// Other methods, and addresses that are in no table.
	for (const [path, access] of unlistedPaths()) site.use(path, ...guardsOf({ access }));

	// Programs get the API's answer to an address that is not there; people get a page.
	site.get("*", async (c, next) => {
		if (!(c.req.header("accept") ?? "").includes("text/html")) return next();
		c.set("network", await deps.network.read());
		await securePages(c, async () => {
			c.res = await answerError(c, "not_found");
		});
		return c.res;
	});
	return site;
}

function answerRoute(c: WebContext, deps: PageDeps, route: Route): Response | Promise<Response> {
	const isStream = route.method === "GET" && route.isStream === true;
	// Hono answers HEAD as GET and drops the body: a stream that nobody reads would stay open.
	if (isStream && c.req.method !== "GET") return answerError(c, "method_not_allowed");
	return route.answer(c, deps);
}

/** For an address that only takes a form: the nearest one above it that is a page. */
function pageAbove({ method, path }: Route): string | undefined {
	const isPage = (above: string) => ROUTES.some((route) => route.method === "GET" && route.path === above);
	if (method === "GET" || isPage(path)) return undefined;
	let above = path;
	do above = above.slice(0, above.lastIndexOf("/"));
	while (above !== "" && !isPage(above));
	return above === "" ? "/" : above;
}

function fillIn(c: WebContext, path: string): string {
	return path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(c.req.param(name) ?? ""));
}

/** Below the first word of each address: as its routes where they all have one access, signed in where they differ. */
function unlistedPaths(): ReadonlyMap<string, Access> {
	const found = new Map<string, Access>();
	for (const { path, access } of ROUTES) {
		const pattern = path === "/" ? path : path.replace(/^(\/[^/]+).*/, "$1/*");
		const known = found.get(pattern) ?? access;
		found.set(pattern, known === access ? access : "signed-in");
	}
	return found;
}
