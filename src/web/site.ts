// Every page in one place, and before them what no page may go without: headers, session, sign-in, the right to
// the programme, the guard of its forms.

import { Hono } from "hono";
import { matchedRoutes } from "hono/route";
import { requireAuthenticator, requireProgramme, requireSignIn, requireStaff } from "./access.ts";
import { mountAccount } from "./account/account.ts";
import { requireRecentPassword } from "./account/enter-password-page.ts";
import { mountAssets } from "./assets.ts";
import { mountConversions } from "./conversions/mount.ts";
import type { WebDeps } from "./deps.ts";
import { mountApiReference } from "./docs/api-page.ts";
import { mountGuide } from "./docs/guide-page.ts";
import type { WebContext, WebEnv } from "./env.ts";
import { answerError, errorCodeOf } from "./error-page.ts";
import { guardForms, limitForms } from "./guard-forms.ts";
import { guardAddress } from "./guard-text.ts";
import { mountIntegration } from "./integration/integration.ts";
import { mountNotices } from "./notices/notices.ts";
import { mountOverview } from "./overview/overview.ts";
import { mountPeople } from "./people/people.ts";
import { mountProgrammes } from "./programmes/programmes.ts";
import { mountReview } from "./review/mount.ts";
import { securePages } from "./security-headers.ts";
import { openSession } from "./session.ts";
import { mountSignIn } from "./sign-in/sign-in.ts";

/** For everybody: what comes before signing in. */
const OPEN_PATHS = ["/", "/sign-in/*", "/sign-out", "/forgot-password", "/welcome/*", "/docs/*"];
const PEOPLE_PATHS = ["/account/*", "/programmes/*", "/review/*", "/people/*"];
const STAFF_PATHS = ["/review/*", "/people/*"];

export function createSite(deps: WebDeps): Hono<WebEnv> {
	const site = new Hono<WebEnv>();
	site.onError((error, c) => {
		// The route and not the path: one-time links hold their token there.
		deps.log.error({ err: error, method: c.req.method, route: routeOf(c) }, "a page failed");
		return answerError(c, errorCodeOf(error));
	});
	site.use("/assets/*", securePages);
	mountAssets(site);
	const session = openSession(deps);
	for (const path of [...OPEN_PATHS, ...PEOPLE_PATHS]) site.use(path, securePages, session, guardAddress);
	for (const path of PEOPLE_PATHS) site.use(path, requireSignIn, requireAuthenticator);
	site.use("/account/*", requireRecentPassword(deps));
	for (const path of STAFF_PATHS) site.use(path, requireStaff);
	site.use("/programmes/:programmeId/*", requireProgramme(deps));
	const formsGuard = guardForms(deps);
	for (const path of [...OPEN_PATHS, ...PEOPLE_PATHS]) site.use(path, limitForms(), formsGuard);

	site.get("/", (c) => c.redirect(c.get("viewer") === null ? "/sign-in" : "/programmes", 303));
	mountGuide(site, deps);
	mountApiReference(site, deps);
	mountSignIn(site, deps);
	mountAccount(site, deps);
	mountProgrammes(site, deps);
	mountOverview(site, deps);
	mountIntegration(site, deps);
	mountPeople(site, deps);
	mountNotices(site, deps);
	mountConversions(site, deps);
	mountReview(site, deps);

	// Programs get the API's answer to an address that is not there; people get a page.
	site.get("*", async (c, next) => {
		if (!(c.req.header("accept") ?? "").includes("text/html")) return next();
		await securePages(c, async () => {
			c.res = await answerError(c, "not_found");
		});
		return c.res;
	});
	return site;
}

/** As it is written here, with ":token" in place of the token. */
function routeOf(c: WebContext): string {
	return matchedRoutes(c).findLast(({ path }) => !path.endsWith("*"))?.path ?? "*";
}
