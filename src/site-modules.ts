// Joins the pages and calls of the core with those of the modules, for processes that answer people and shops. A
// worker does not load this file.

import { HEALTH_CALLS } from "#core/api/health.ts";
import { type ApiDescription, CORE_TAGS } from "#core/api/openapi/document.ts";
import { CORE_WEBHOOKS } from "#core/api/openapi/webhooks.ts";
import { LOAD_PIXEL } from "#core/api/pixel.ts";
import type { SignedRoute } from "#core/api/route.ts";
import { CORE_SIGNED_ROUTES } from "#core/api/signed-routes.ts";
import { withAdditions } from "#core/domain/addition.ts";
import { joinMenus } from "#core/web/menu.ts";
import { CORE_ROUTES, type SiteLists } from "#core/web/site.ts";
import { ACCOUNTS_SITE } from "#modules/accounts/site.ts";
import { FEEDS_SITE } from "#modules/feeds/site.ts";
import { JOBS_SITE } from "#modules/jobs/site.ts";
import { PARTNERS_SITE } from "#modules/partners/site.ts";
import { PERSONAL_DATA_SITE } from "#modules/personal-data/site.ts";
import { REFUNDS_SITE } from "#modules/refunds/site.ts";
import type { TokenRoute } from "#modules/token-api/api/route.ts";
import { TOKEN_API_SITE } from "#modules/token-api/site.ts";
import type { SiteModule } from "./site-module.ts";

/** Pages and calls of the modules, in the order of modules.ts. */
export const SITE_MODULES: readonly SiteModule[] = [
	REFUNDS_SITE,
	PARTNERS_SITE,
	ACCOUNTS_SITE,
	JOBS_SITE,
	TOKEN_API_SITE,
	PERSONAL_DATA_SITE,
	FEEDS_SITE,
];

export const SITE_LISTS: SiteLists = {
	// The routes of modules come before the routes of the core. Otherwise the word "bulk" in the address of a job would
	// be taken for the id of a conversion.
	routes: [...SITE_MODULES.flatMap(({ routes = [] }) => routes), ...CORE_ROUTES],
	menus: joinMenus(SITE_MODULES.map(({ menus = {} }) => menus)),
};

export const SIGNED_ROUTES: readonly SignedRoute[] = [
	...CORE_SIGNED_ROUTES,
	...SITE_MODULES.flatMap(({ signedCalls = [] }) => signedCalls),
];

export const TOKEN_CALLS: readonly TokenRoute[] = SITE_MODULES.flatMap(({ calls = [] }) => calls);

/** All calls and callbacks. The OpenAPI document and the tables in docs/ are generated from them. */
export const API: ApiDescription = {
	tags: withAdditions(
		CORE_TAGS,
		SITE_MODULES.flatMap(({ tags = [] }) => tags),
		({ name }) => name,
	),
	calls: [...SIGNED_ROUTES, LOAD_PIXEL, ...HEALTH_CALLS, ...TOKEN_CALLS],
	webhooks: [...CORE_WEBHOOKS, ...SITE_MODULES.flatMap(({ webhooks = [] }) => webhooks)],
};
