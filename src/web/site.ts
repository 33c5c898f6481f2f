// The site. It has the table of all pages and forms, and puts the guards that a route's access requires
// before each route.

import { Hono } from "hono";
import { createEarnedTallies, createTallies } from "../conversions/tally.ts";
import { idsOf, recordOf, routeOf } from "../request-notes.ts";
import { admitPages, createGuards, securePages } from "./access.ts";
import * as account from "./account/account-page.ts";
import * as authenticator from "./account/authenticator-page.ts";
import { mountAssets } from "./assets.ts";
import { assign, refundConversion, showConversion } from "./conversions/conversion-page.ts";
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
import { JOB_ROUTES } from "./jobs/routes.ts";
import * as network from "./network/network-page.ts";
import * as overview from "./overview/overview-page.ts";
import * as totals from "./overview/totals-page.ts";
import type { PageDeps, WebContext, WebDeps, WebEnv } from "./page.ts";
import { sendPartnerApplication, showPartnerApplication } from "./partners/apply-page.ts";
import * as archivePartner from "./partners/archive-page.ts";
import * as partnerCallbacks from "./partners/callbacks-page.ts";
import * as credited from "./partners/credited-page.ts";
import * as earnings from "./partners/earnings-page.ts";
import * as join from "./partners/join-page.ts";
import * as links from "./partners/links-page.ts";
import { showOpenProgrammes } from "./partners/open-programmes-page.ts";
import * as partners from "./partners/partner-list-page.ts";
import * as partnership from "./partners/partnership-page.ts";
import * as programmePartners from "./partners/programme-partners-page.ts";
import * as partnerSettings from "./partners/settings-page.ts";
import { WAITING_ADDRESSES_PATH } from "./partners/waiting-addresses.ts";
import * as paths from "./paths.ts";
import { askToEnd } from "./people/end-access-page.ts";
import * as people from "./people/people-page.ts";
import { showErasures } from "./personal-data/erasures-page.ts";
import * as partnerData from "./personal-data/partner-page.ts";
import * as personData from "./personal-data/person-page.ts";
import * as archiveProgramme from "./programmes/archive-page.ts";
import { issueKeys, showManyKeys } from "./programmes/many-keys-page.ts";
import * as programmes from "./programmes/programme-list-page.ts";
import * as terms from "./programmes/terms-pages.ts";
import { PICTURES } from "./receive-file.ts";
import { type Access, form, page, type Route } from "./routes.ts";
import * as company from "./sign-in/company-page.ts";
import * as signIn from "./sign-in/sign-in-page.ts";
import * as welcome from "./sign-in/welcome-page.ts";
import * as entries from "./statements/entries-page.ts";
import * as statements from "./statements/list-page.ts";
import { showPartnerStatements } from "./statements/partner-statements-page.ts";
import * as paymentDetails from "./statements/payment-details-page.ts";
import { COMPARED_PATH } from "./statements/restored.ts";
import * as statement from "./statements/statement-page.ts";
import * as audit from "./system/audit-page.ts";
import * as resend from "./system/resend-page.ts";
import * as system from "./system/system-page.ts";
import * as tokens from "./tokens/tokens-page.ts";

const WELCOME = paths.welcomePath(":token");
const SESSIONS = `${paths.ACCOUNT_PATH}/sessions`;
const SETTINGS = paths.settingsPath(":programmeId");
const OVERVIEW = paths.overviewPath(":programmeId");
const CONVERSIONS = paths.conversionsPath(":programmeId");
const INTEGRATION = paths.integrationPath(":programmeId");
const KEYS = paths.keysPath(":programmeId");
const SIGNATURE = paths.signaturePath(":programmeId");
const DELIVERY = paths.deliveryPath(":programmeId", ":deliveryId");
const PARTNERS = paths.programmePartnersPath(":programmeId");
const PROGRAMME_PARTNER = paths.programmePartnerPath(":programmeId", ":partnershipId");
const ARCHIVE_PROGRAMME = paths.archiveProgrammePath(":programmeId");
const ARCHIVE_PARTNER = paths.archivePartnerPath(":partnerId");
const PARTNER_DATA = paths.partnerDataPath(":partnerId");
const PERSON_DATA = paths.personDataPath(":personId");
const PARTNER_SETTINGS = paths.partnerSettingsPath(":programmeId");
const JOIN = paths.joinPath(":programmeId");
const PEOPLE = paths.peoplePath(":programmeId");
const PERSON = `${PEOPLE}/:personId`;
const PARTNER_EARNINGS = paths.earningsPath(":partnerId");
const PARTNER_PEOPLE = paths.partnerPeoplePath(":partnerId");
const PARTNER_API = paths.partnerApiPath(":partnerId");
const PARTNER_LINKS = paths.partnerLinksPath(":partnerId");
const PARTNER_CONVERSIONS = paths.partnerConversionsPath(":partnerId");
const STATEMENT = paths.statementPath(":partnerId", ":statementId");
const ENTRIES = paths.entriesPath(":partnerId");
const PAYMENT_DETAILS = paths.paymentDetailsPath(":partnerId");
const PARTNER_CALLBACKS = paths.partnerCallbacksPath(":partnerId");
const PARTNER_SIGNATURE = paths.partnerSignaturePath(":partnerId");
const PARTNER_DELIVERY = paths.partnerDeliveryPath(":partnerId", ":deliveryId");

/**
 * All routes. The first matching route answers, so a path with a fixed word must come before one with a
 * parameter.
 */
export const ROUTES: readonly Route[] = [
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
	form(paths.OWN_DATA_PATH, "signed-in", personData.downloadOwnData),
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
	// The list of all partners, for staff.
	page(paths.PARTNERS_PATH, "staff", partners.showPartners),
	form(`${paths.PARTNERS_PATH}/invite`, "staff", partners.invite),
	page(paths.PARTNER_TOTALS_PATH, "staff", partners.exportTotals),
	form(WAITING_ADDRESSES_PATH, "staff", partners.answerAddress),
	// The statements of all partners, for staff. The routes of their jobs are in jobs/routes.ts.
	page(paths.STATEMENTS_PATH, "staff", statements.showStatements),
	form(`${paths.STATEMENTS_PATH}/prepare`, "staff", statements.prepare),
	form(`${paths.STATEMENTS_PATH}/pay`, "staff", statements.pay),
	form(COMPARED_PATH, "staff", statements.confirmComparison),
	page(paths.PAYOUT_FILE_PATH, "staff", statements.downloadPayouts),
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
	// A programme's partners, its settings for partners, and the public page on which partners apply.
	page(PARTNERS, "programme", programmePartners.showProgrammePartners),
	form(`${PARTNERS}/applications/decline-all`, "programme-manage", programmePartners.declineSeen),
	form(`${PARTNERS}/applications/:applicationId`, "programme-manage", programmePartners.answer),
	page(PARTNER_SETTINGS, "programme-manage", partnerSettings.showPartnerSettings),
	form(PARTNER_SETTINGS, "programme-manage", partnerSettings.savePartnerSettings),
	page(PROGRAMME_PARTNER, "programme", partnership.showPartnership),
	form(PROGRAMME_PARTNER, "programme-manage", partnership.save),
	form(`${PROGRAMME_PARTNER}/change`, "programme-manage", partnership.change),
	page(JOIN, "anyone", join.showJoin),
	form(JOIN, "anyone", join.sendApplication),
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
	// The routes of jobs come before those of conversions. Otherwise "bulk" would be taken for the id of a
	// conversion.
	...JOB_ROUTES,
	page(CONVERSIONS, "programme", conversions.showConversions),
	form(`${CONVERSIONS}/decide`, "programme-decide", decide),
	page(`${CONVERSIONS}/export.csv`, "programme", conversions.showExport),
	page(paths.conversionPath(":programmeId", ":conversionId"), "programme", showConversion),
	form(`${CONVERSIONS}/:conversionId/refund`, "programme-decide", refundConversion),
	// The list of conversions of all programmes, for staff.
	page(paths.ALL_CONVERSIONS_PATH, "staff", conversions.showConversions),
	page(`${paths.ALL_CONVERSIONS_PATH}/export.csv`, "staff", conversions.showExport),
	form(`${paths.ALL_CONVERSIONS_PATH}/decide`, "staff", decide),
	form(`${paths.ALL_CONVERSIONS_PATH}/:conversionId/partner`, "staff", assign),
	// A partner's own pages with earnings, links and conversions. Staff also add a partner to programmes,
	// invite its people, and end its partnerships.
	page(PARTNER_EARNINGS, "partner", earnings.showEarnings),
	form(`${PARTNER_EARNINGS}/add`, "partner-manage", earnings.addProgramme),
	form(`${PARTNER_EARNINGS}/name`, "partner-manage", earnings.rename),
	form(`${PARTNER_EARNINGS}/end`, "partner-manage", earnings.endAllPartnerships),
	page(ARCHIVE_PARTNER, "partner-manage", archivePartner.askToArchive),
	form(ARCHIVE_PARTNER, "partner-manage", archivePartner.archive),
	form(`${ARCHIVE_PARTNER}/resume`, "partner-manage", archivePartner.resume),
	page(PARTNER_DATA, "partner-manage", partnerData.showPartnerData),
	form(`${PARTNER_DATA}/export`, "partner-manage", partnerData.downloadPartnerData),
	form(`${PARTNER_DATA}/erase`, "partner-manage", partnerData.erasePartnerData),
	page(PARTNER_LINKS, "partner", links.showLinks),
	form(PARTNER_LINKS, "partner", links.makeOwnLink),
	page(PARTNER_CONVERSIONS, "partner", credited.showCredited),
	page(`${PARTNER_CONVERSIONS}/export.csv`, "partner", credited.exportCredited),
	// The money of a partner. Owners of programmes see none of it.
	page(paths.partnerStatementsPath(":partnerId"), "partner", showPartnerStatements),
	page(STATEMENT, "partner", statement.showStatement),
	page(`${STATEMENT}/sales.csv`, "partner", statement.downloadSales),
	form(`${STATEMENT}/pay`, "partner-manage", statement.pay),
	form(`${STATEMENT}/undo`, "partner-manage", statement.undo),
	page(ENTRIES, "partner", entries.showEntries),
	form(ENTRIES, "partner-manage", entries.adjust),
	page(PAYMENT_DETAILS, "partner", paymentDetails.showPaymentDetails),
	form(PAYMENT_DETAILS, "partner", paymentDetails.saveDetails),
	form(`${PAYMENT_DETAILS}/vat`, "partner-manage", paymentDetails.saveVat),
	// Callbacks to a partner. Lists, resends, secrets and the check of a signature are those of a shop.
	page(PARTNER_CALLBACKS, "partner", (c, deps) => partnerCallbacks.showPartnerCallbacks(c, deps)),
	{ ...form(`${PARTNER_CALLBACKS}/url`, "partner", partnerCallbacks.saveUrl), waitsOutside: true },
	form(`${PARTNER_CALLBACKS}/url/remove`, "partner", partnerCallbacks.removeUrl),
	form(`${PARTNER_CALLBACKS}/test`, "partner", partnerCallbacks.sendTest),
	form(`${PARTNER_CALLBACKS}/resend-failed`, "partner", deliveries.resendAllFailed),
	form(`${PARTNER_CALLBACKS}/resend`, "partner", deliveries.resendTicked),
	form(`${PARTNER_CALLBACKS}/send-waiting`, "partner", deliveries.sendWaiting),
	form(`${PARTNER_CALLBACKS}/set-aside`, "partner", deliveries.setPartnerFailuresAside),
	form(`${PARTNER_CALLBACKS}/secret`, "partner", partnerCallbacks.issueNextSecret),
	form(`${PARTNER_CALLBACKS}/secret/activate`, "partner", changeSecret("activate")),
	form(`${PARTNER_CALLBACKS}/secret/discard`, "partner", changeSecret("discard")),
	form(`${PARTNER_CALLBACKS}/secret/end`, "partner", changeSecret("end")),
	page(PARTNER_SIGNATURE, "partner", signature.showSignatureForm),
	form(PARTNER_SIGNATURE, "partner", signature.checkPasted),
	page(PARTNER_DELIVERY, "partner", delivery.showDelivery),
	form(`${PARTNER_DELIVERY}/resend`, "partner", deliveries.resendOne),
	page(paths.openProgrammesPath(":partnerId"), "partner", showOpenProgrammes),
	page(paths.partnerApplyPath(":partnerId", ":programmeId"), "partner", showPartnerApplication),
	form(paths.partnerApplyPath(":partnerId", ":programmeId"), "partner", sendPartnerApplication),
	page(PARTNER_PEOPLE, "partner", people.showPeople),
	form(`${PARTNER_PEOPLE}/invite`, "partner", people.invite),
	form(`${PARTNER_PEOPLE}/:personId/link`, "partner", people.renewLink),
	form(`${PARTNER_PEOPLE}/:personId/remove`, "partner", people.deactivatePerson),
	page(PARTNER_API, "partner", tokens.showTokens),
	form(PARTNER_API, "partner", tokens.issue),
	form(`${PARTNER_API}/:tokenId/revoke`, "partner", tokens.revoke),
	// The network's name, look and mails, its API tokens, and the guided set-up.
	page(paths.NETWORK_TOKENS_PATH, "staff", tokens.showTokens),
	form(paths.NETWORK_TOKENS_PATH, "staff", tokens.issue),
	form(`${paths.NETWORK_TOKENS_PATH}/:tokenId/revoke`, "staff", tokens.revoke),
	page(paths.NETWORK_PATH, "staff", network.showNetwork),
	form(paths.NETWORK_PATH, "staff", network.saveNetwork),
	form(paths.PAYOUT_SETTINGS_PATH, "staff", network.savePayouts),
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
	// What is stored about people and partners, and their erasure.
	page(paths.PERSONAL_DATA_PATH, "staff", showErasures),
	page(PERSON_DATA, "staff", personData.showPersonData),
	form(`${PERSON_DATA}/export`, "staff", personData.downloadPersonData),
	form(`${PERSON_DATA}/erase`, "staff", personData.erasePersonData),
];

/** Addresses of the pages that wait for another machine. */
const PAGES_THAT_WAIT: ReadonlySet<string> = new Set(
	ROUTES.filter(({ method, waitsOutside }) => method === "GET" && waitsOutside).map(({ path }) => path),
);

export function createSite(webDeps: WebDeps): Hono<WebEnv> {
	const deps: PageDeps = {
		...webDeps,
		tallies: createTallies(webDeps),
		earnedTallies: createEarnedTallies(webDeps),
	};
	const site = new Hono<WebEnv>();
	site.onError((error, c) => {
		// The log gets the route instead of the path, because the path of a one-time link contains its token.
		const route = routeOf(c) ?? "*";
		deps.log.error({ err: error, ...idsOf(recordOf(c)), method: c.req.method, route }, "a page failed");
		return answerError(c, errorCodeOf(error));
	});
	site.use(admitPages(deps, PAGES_THAT_WAIT));
	site.use("/assets/*", securePages);
	mountAssets(site, deps.store);
	site.use(`${paths.DOWNLOADS_PATH}/*`, securePages);
	mountDownloads(site);

	const guardsOf = createGuards(deps);
	for (const route of ROUTES) {
		const guards = guardsOf(route);
		site.on([route.method], [route.path], ...guards, (c) => route.answer(c, deps));
		const page = pageAbove(route);
		if (page === undefined) continue;
		// After a refused form, the browser's address is that of the form. If a person opens this address again,
		// they are redirected to the page.
		site.on(["GET"], [route.path], ...guards, (c) => c.redirect(fillIn(c, page), 303));
	}
	// The guards also apply to other methods, and to addresses without a route.
	for (const [path, access] of unlistedPaths()) site.use(path, ...guardsOf({ access }));

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

/**
 * Returns the nearest page above the address of a form. Returns undefined if the address itself is a page.
 */
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

/**
 * Returns the access that unknown addresses require, by the first word of the path. If all routes that begin
 * with this word have the same access, it applies to unknown addresses as well. Otherwise they require a
 * sign-in, so that nobody learns which addresses exist. The documentation is public, so anybody is told that a page of it
 * does not exist.
 */
function unlistedPaths(): ReadonlyMap<string, Access> {
	const found = new Map<string, Access>();
	for (const { path, access } of ROUTES) {
		const pattern = path === "/" ? path : path.replace(/^(\/[^/]+).*/, "$1/*");
		const previous = found.get(pattern) ?? access;
		found.set(pattern, previous === access ? access : "signed-in");
	}
	found.set(`${paths.DOCS_PATH}/*`, "anyone");
	return found;
}
