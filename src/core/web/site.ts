// Assembles the site from the pages and forms of the core and of the modules. Each route gets the guards that its
// access requires.

import { Hono } from "hono";
import { createEarnedTallies, createTallies } from "../conversions/tally.ts";
import { idsOf, recordOf, routeOf } from "../request-notes.ts";
import { admitPages, createGuards, securePages } from "./access.ts";
import * as account from "./account/account-page.ts";
import * as authenticator from "./account/authenticator-page.ts";
import { mountAssets } from "./assets.ts";
import { showConversion } from "./conversions/conversion-page.ts";
import { decide } from "./conversions/decide-action.ts";
import * as conversions from "./conversions/list-page.ts";
import { showDocument } from "./docs/docs-pages.ts";
import { markdownPath, PUBLIC_DOCUMENTS } from "./docs/document-list.ts";
import { showLlmsFull, showLlmsIndex } from "./docs/llms-pages.ts";
import { showRobots } from "./docs/robots-page.ts";
import { showSearch } from "./docs/search-page.ts";
import { mountDownloads } from "./downloads.ts";
import { answerError, errorCodeOf } from "./error-page.ts";
import * as callbacks from "./integration/callbacks-page.ts";
import * as deliveries from "./integration/deliveries-section.ts";
import * as delivery from "./integration/delivery-page.ts";
import * as inbound from "./integration/inbound-page.ts";
import * as keys from "./integration/keys-page.ts";
import { changeSecret } from "./integration/secret-section.ts";
import * as signature from "./integration/signature-page.ts";
import * as test from "./integration/test-section.ts";
import type { Menus } from "./menu.ts";
import * as network from "./network/network-page.ts";
import * as overview from "./overview/overview-page.ts";
import * as totals from "./overview/totals-page.ts";
import type { PageDeps, WebContext, WebDeps, WebEnv } from "./page.ts";
import * as paths from "./paths.ts";
import { askToEnd } from "./people/end-access-page.ts";
import * as people from "./people/people-page.ts";
import * as archiveProgramme from "./programmes/archive-page.ts";
import { issueKeys, showManyKeys } from "./programmes/many-keys-page.ts";
import * as programmes from "./programmes/programme-list-page.ts";
import * as terms from "./programmes/terms-pages.ts";
import { PICTURES } from "./receive-file.ts";
import { type Access, form, page, type Route } from "./routes.ts";
import * as company from "./sign-in/company-page.ts";
import * as signIn from "./sign-in/sign-in-page.ts";
import * as welcome from "./sign-in/welcome-page.ts";
import * as audit from "./system/audit-page.ts";
import * as resend from "./system/resend-page.ts";
import * as system from "./system/system-page.ts";

const WELCOME = paths.welcomePath(":token");
const SESSIONS = `${paths.ACCOUNT_PATH}/sessions`;
const SETTINGS = paths.settingsPath(":programmeId");
const OVERVIEW = paths.overviewPath(":programmeId");
const CONVERSIONS = paths.conversionsPath(":programmeId");
const INTEGRATION = paths.integrationPath(":programmeId");
const KEYS = paths.keysPath(":programmeId");
const SIGNATURE = paths.signaturePath(":programmeId");
const DELIVERY = paths.deliveryPath(":programmeId", ":deliveryId");
const ARCHIVE_PROGRAMME = paths.archiveProgrammePath(":programmeId");
const PEOPLE = paths.peoplePath(":programmeId");
const PERSON = `${PEOPLE}/:personId`;

/** The routes of the core. A path with a fixed word must come before one with a parameter. */
export const CORE_ROUTES: readonly Route[] = [
	// Sign-in, sign-out, forgotten passwords and one-time links.
	page(paths.START_PATH, "anyone", signIn.showStart),
	page(paths.SIGN_IN_PATH, "anyone", signIn.showSignIn),
	form(paths.SIGN_IN_PATH, "anyone", signIn.submitSignIn),
	page(paths.CODE_PATH, "anyone", signIn.showCodeForm),
	form(paths.CODE_PATH, "anyone", signIn.enterCode),
	{ ...page(paths.COMPANY_SIGN_IN_PATH, "anyone", company.leadToProvider), waitsOutside: true },
	{ ...page(paths.COMPANY_RETURN_PATH, "anyone", company.returnFromProvider), waitsOutside: true },
	form(paths.SIGN_OUT_PATH, "anyone", signIn.leave),
	page(paths.FORGOT_PASSWORD_PATH, "anyone", signIn.showForgotPassword),
	form(paths.FORGOT_PASSWORD_PATH, "anyone", signIn.requestLink),
	page(WELCOME, "anyone", welcome.showWelcome),
	form(WELCOME, "anyone", welcome.acceptWelcome),
	// The documentation and downloads for everybody, and the operations guide for staff.
	...PUBLIC_DOCUMENTS.flatMap(({ path }) => [
		page(path, "anyone", showDocument),
		page(markdownPath(path), "anyone", showDocument),
	]),
	page(paths.problemPath(":code"), "anyone", showDocument),
	page(paths.LLMS_INDEX_PATH, "anyone", showLlmsIndex),
	page(paths.LLMS_FULL_PATH, "anyone", showLlmsFull),
	page(paths.ROBOTS_PATH, "anyone", showRobots),
	page(paths.DOCS_SEARCH_PATH, "anyone", showSearch),
	page(paths.OPERATIONS_PATH, "staff", showDocument),
	page(markdownPath(paths.OPERATIONS_PATH), "staff", showDocument),
	page(paths.operationsPath(":part"), "staff", showDocument),
	// A person's own account, with settings, email address, password, sessions and authenticator.
	page(paths.ACCOUNT_PATH, "signed-in", account.showAccount),
	form(`${paths.ACCOUNT_PATH}/settings`, "signed-in", account.saveSettings),
	form(`${paths.ACCOUNT_PATH}/email`, "signed-in", account.askForEmail),
	form(`${paths.ACCOUNT_PATH}/password`, "signed-in", account.changeOwnPassword),
	form(`${SESSIONS}/end`, "signed-in", account.endSession),
	form(`${SESSIONS}/end-others`, "signed-in", account.endOtherSessions),
	page(paths.AUTHENTICATOR_PATH, "account-authenticator", authenticator.showSetUp),
	form(paths.AUTHENTICATOR_PATH, "account-authenticator", authenticator.beginSetUp),
	form(`${paths.AUTHENTICATOR_PATH}/confirm`, "account-authenticator", authenticator.confirmSetUp),
	form(`${paths.AUTHENTICATOR_PATH}/off`, "signed-in", authenticator.turnOffAuthenticator),
	// The list of programmes, the form for a new programme, and the settings of a programme.
	page(paths.PROGRAMMES_PATH, "signed-in", programmes.showProgrammes),
	page(paths.CREATE_PROGRAMME_PATH, "staff", terms.showCreateForm),
	form(paths.CREATE_PROGRAMME_PATH, "staff", terms.createProgramme),
	page(paths.MANY_KEYS_PATH, "staff", showManyKeys),
	form(paths.MANY_KEYS_PATH, "staff", issueKeys),
	page(SETTINGS, "programme", terms.showSettings),
	form(SETTINGS, "programme-manage", terms.saveSettings),
	page(ARCHIVE_PROGRAMME, "staff", archiveProgramme.askToArchive),
	form(ARCHIVE_PROGRAMME, "staff", archiveProgramme.archive),
	form(`${ARCHIVE_PROGRAMME}/resume`, "staff", archiveProgramme.resume),
	// The overview of a programme and, for staff, the totals of the network.
	page(OVERVIEW, "programme", overview.showOverview),
	form(`${OVERVIEW}/set-aside`, "programme-integrate", overview.setFailuresAside),
	page(paths.TOTALS_PATH, "staff", totals.showNetworkTotals),
	// Integration, for a shop's developer. It has four tabs with their forms, and the page of a callback.
	page(INTEGRATION, "programme", callbacks.showCallbacks),
	form(INTEGRATION, "programme-integrate", callbacks.issueFirstKey),
	{ ...form(`${INTEGRATION}/postback-url`, "programme-integrate", callbacks.saveUrl), waitsOutside: true },
	form(`${INTEGRATION}/postback-url/remove`, "programme-integrate", callbacks.removeUrl),
	form(`${INTEGRATION}/test`, "programme-integrate", test.sendTest),
	form(`${INTEGRATION}/test/:conversionId`, "programme-integrate", test.moveTest),
	form(`${INTEGRATION}/resend-failed`, "programme-integrate", deliveries.resendAllFailed),
	form(`${INTEGRATION}/resend`, "programme-integrate", deliveries.resendTicked),
	form(`${INTEGRATION}/send-waiting`, "programme-integrate", deliveries.sendWaiting),
	page(KEYS, "programme", keys.showKeys),
	form(KEYS, "programme-integrate", keys.issueApiKey),
	form(`${KEYS}/:keyId/revoke`, "programme-integrate", keys.revokeApiKey),
	form(`${KEYS}/secret`, "programme-integrate", keys.issueNextSecret),
	form(`${KEYS}/secret/activate`, "programme-integrate", changeSecret("activate")),
	form(`${KEYS}/secret/discard`, "programme-integrate", changeSecret("discard")),
	form(`${KEYS}/secret/end`, "programme-integrate", changeSecret("end")),
	page(paths.inboundPath(":programmeId"), "programme", inbound.showInbound),
	page(SIGNATURE, "programme-integrate", signature.showSignatureForm),
	form(SIGNATURE, "programme-integrate", signature.checkPasted),
	page(DELIVERY, "programme", delivery.showDelivery),
	form(`${DELIVERY}/resend`, "programme-integrate", deliveries.resendOne),
	// The people of a programme, and the staff.
	page(PEOPLE, "programme", people.showPeople),
	form(`${PEOPLE}/invite`, "programme-manage", people.invite),
	page(`${PEOPLE}/leave`, "programme", askToEnd),
	form(`${PEOPLE}/leave`, "programme", people.leave),
	form(`${PERSON}/link`, "programme-manage", people.renewLink),
	form(`${PERSON}/role`, "programme-manage", people.changeRoleOf),
	page(`${PERSON}/remove`, "programme-manage", askToEnd),
	form(`${PERSON}/remove`, "programme-manage", people.removeFromProgramme),
	page(paths.STAFF_PATH, "staff", people.showPeople),
	form(`${paths.STAFF_PATH}/invite`, "staff", people.invite),
	form(`${paths.STAFF_PATH}/:personId/link`, "staff", people.renewLink),
	page(`${paths.STAFF_PATH}/:personId/deactivate`, "staff", askToEnd),
	form(`${paths.STAFF_PATH}/:personId/deactivate`, "staff", people.deactivatePerson),
	page(CONVERSIONS, "programme", conversions.showConversions),
	form(`${CONVERSIONS}/decide`, "programme-decide", decide),
	page(`${CONVERSIONS}/export.csv`, "programme", conversions.showExport),
	page(paths.conversionPath(":programmeId", ":conversionId"), "programme", showConversion),
	// The list of conversions of all programmes, for staff.
	page(paths.ALL_CONVERSIONS_PATH, "staff", conversions.showConversions),
	page(`${paths.ALL_CONVERSIONS_PATH}/export.csv`, "staff", conversions.showExport),
	form(`${paths.ALL_CONVERSIONS_PATH}/decide`, "staff", decide),
	// The network's name, look and mails, its API tokens, and the guided set-up.
	page(paths.NETWORK_PATH, "staff", network.showNetwork),
	form(paths.NETWORK_PATH, "staff", network.saveNetwork),
	form(paths.LOGO_PATH, "staff", network.uploadLogo, PICTURES),
	form(paths.REMOVE_LOGO_PATH, "staff", network.dropLogo),
	{ ...form(paths.TEST_MAIL_PATH, "staff", network.sendTest), waitsOutside: true },
	form(paths.SAMPLE_PROGRAMME_PATH, "staff", network.trySample),
	form(paths.END_SET_UP_PATH, "staff", network.finishSetUp),
	// The health of the installation, and the audit log.
	page(paths.SYSTEM_PATH, "staff", system.showSystem),
	form(paths.HOLD_PATH, "staff", system.hold),
	page(paths.RESEND_PATH, "staff", resend.showResend),
	form(paths.RESEND_PATH, "staff", resend.resendAll),
	page(paths.AUDIT_PATH, "staff", audit.showAudit),
	page(paths.AUDIT_EXPORT_PATH, "staff", audit.exportAudit),
];

export interface SiteLists {
	/** Pages and forms of the core and of all modules. The first route that matches a request answers it. */
	routes: readonly Route[];
	menus: Menus;
}

export function createSite(webDeps: WebDeps, { routes, menus }: SiteLists): Hono<WebEnv> {
	const deps: PageDeps = {
		...webDeps,
		tallies: createTallies(webDeps),
		earnedTallies: createEarnedTallies(webDeps),
		menus,
	};
	const site = new Hono<WebEnv>();
	site.onError((error, c) => {
		// The log gets the route instead of the path, because the path of a one-time link contains its token.
		const route = routeOf(c) ?? "*";
		deps.log.error({ err: error, ...idsOf(recordOf(c)), method: c.req.method, route }, "a page failed");
		return answerError(c, errorCodeOf(error));
	});
	const isPageThatWaits = ({ method, waitsOutside }: Route) => method === "GET" && waitsOutside;
	site.use(admitPages(deps, new Set(routes.filter(isPageThatWaits).map(({ path }) => path))));
	site.use("/assets/*", securePages);
	mountAssets(site, deps.store);
	site.use(`${paths.DOWNLOADS_PATH}/*`, securePages);
	mountDownloads(site);

	const guardsOf = createGuards(deps);
	for (const route of routes) {
		const guards = guardsOf(route);
		site.on([route.method], [route.path], ...guards, (c) => route.answer(c, deps));
		const page = pageAbove(route, routes);
		if (page === undefined) continue;
		// After a refused form, the browser shows the address of the form. If a person opens this address again, they are
		// redirected to the page that has the form.
		site.on(["GET"], [route.path], ...guards, (c) => c.redirect(fillIn(c, page), 303));
	}
	// The guards also apply to other methods, and to addresses without a route.
	for (const [path, access] of unlistedPaths(routes)) site.use(path, ...guardsOf({ access }));

	// For an unknown address, people get a page. Programs get the API's answer.
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

/** Returns the nearest page above the address of a form. Returns undefined if the address itself is a page. */
function pageAbove({ method, path }: Route, routes: readonly Route[]): string | undefined {
	const isPage = (above: string) => routes.some((route) => route.method === "GET" && route.path === above);
	if (method === "GET" || isPage(path)) return undefined;
	let above = path;
	do above = above.slice(0, above.lastIndexOf("/"));
	while (above !== "" && !isPage(above));
	return above === "" ? "/" : above;
}

function fillIn(c: WebContext, path: string): string {
	return path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(c.req.param(name) ?? ""));
}

/**
 * Returns the access that unknown addresses require, by the first word of the path. If all routes with this first word
 * have the same access, unknown addresses have it as well. Otherwise they require a sign-in, so that nobody learns
 * which addresses exist. The documentation is public, so anybody is told that a page of it does not exist.
 */
function unlistedPaths(routes: readonly Route[]): ReadonlyMap<string, Access> {
	const found = new Map<string, Access>();
	for (const { path, access } of routes) {
		const pattern = path === "/" ? path : path.replace(/^(\/[^/]+).*/, "$1/*");
		const previous = found.get(pattern) ?? access;
		found.set(pattern, previous === access ? access : "signed-in");
	}
	found.set(`${paths.DOCS_PATH}/*`, "anyone");
	return found;
}
