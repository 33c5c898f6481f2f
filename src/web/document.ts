// The HTML document around a page's content. Pages for signed-in people have a full frame, and pages before
// sign-in have only a plain card.

import { networkName } from "../domain/network.ts";
import type { PersonKind } from "../domain/roles.ts";
import type { Warning } from "../domain/warning.ts";
import type { KnownLogo, NetworkFace } from "../store/queries/known-network.ts";
import type { Partner } from "../store/queries/partners.ts";
import { assetUrl, logoUrl, themeUrl } from "./assets.ts";
import { countUndelivered, TROUBLE_TARGET } from "./conversion-ui.ts";
import * as paths from "./paths.ts";
import { attrs, type Content, type Html, html, message, timeTag } from "./ui.ts";

/** The person who is signed in. */
export interface Viewer {
	personId: number;
	publicId: string;
	email: string;
	name: string;
	kind: PersonKind;
	/** Time zone in which times are shown, or null for the browser's own. */
	zone: string | null;
	locale: string | null;
	/**
	 * Number of programmes to which the person belongs, counted only up to two. It is 0 for staff, who see all
	 * programmes.
	 */
	programmeCount: number;
	/** The partners to which the person belongs. */
	partners: readonly Partner[];
	hasAuthenticator: boolean;
	/** True if the person is staff and must set up an authenticator before opening any other page. */
	awaitsAuthenticator: boolean;
}

/** The shop or partner whose page this is, with the state of its callbacks. */
interface DocumentOwner {
	publicId: string;
	name: string;
	/** Banner that says that callbacks fail, shown on every page of the owner, or null if they work. */
	trouble: Html | null;
	/** Number of callbacks that failed permanently and were neither resent nor set aside. */
	failed: number;
	/** Time at which the operator paused all callbacks, or null if they are not paused. */
	pausedSinceMs: number | null;
}

export interface DocumentProgramme extends DocumentOwner {
	/** Number of partner applications that nobody has answered. */
	applications: number;
}

export interface DocumentPartner extends DocumentOwner {
	isErased: boolean;
}

export type Area =
	| "overview"
	| "integration"
	| "conversions"
	| "programme-partners"
	| "settings"
	| "people"
	| "earnings"
	| "links"
	| "partner-conversions"
	| "partner-statements"
	| "payment-details"
	| "partner-callbacks"
	| "open-programmes"
	| "partner-api"
	| "all-conversions"
	| "totals"
	| "programmes"
	| "partners"
	| "statements"
	| "staff"
	| "network"
	| "system"
	| "account"
	| "docs";

/** Areas whose pages load the chart library. The others do not load its 50 KB. */
const AREAS_WITH_CHARTS: readonly Area[] = [
	"overview",
	"integration",
	"totals",
	"earnings",
	"partner-callbacks",
];
/**
 * Areas that only staff can open. Warnings about the installation appear there and not on the pages of a
 * programme.
 */
export const STAFF_AREAS: readonly Area[] = [
	"programmes",
	"partners",
	"statements",
	"totals",
	"all-conversions",
	"staff",
	"network",
];

export interface Flash {
	tone: "good" | "bad" | "warn" | "info";
	text: string;
	/** Id of the section that shows the message. By default the message is at the top of the page. */
	at?: string | undefined;
}

interface DocumentView {
	title: string;
	/** The network to which the page belongs. */
	network: Masthead;
	/** The person who is signed in, or null for a visitor who is not signed in. */
	viewer: Viewer | null;
	active: Area;
	programme: DocumentProgramme | undefined;
	/** The partner whose page this is, or undefined on all other pages. */
	partner: DocumentPartner | undefined;
	/** Message with the result of the last form, or null. */
	flash: Flash | null;
	/** True if callbacks may go to private addresses. Every page warns about this development setting. */
	allowsPrivateRanges: boolean;
	/** Number of shop addresses that staff must confirm or decline. It is 0 if the reader is not staff. */
	waitingAddresses: number;
	/** Warnings about the installation. They are shown only to staff. */
	warnings: readonly Warning[];
	isSetUpOffered: boolean;
	body: Content;
}

type SidebarPages = readonly { area: Area; path(publicId: string): string; label: string }[];

const PROGRAMME_PAGES: SidebarPages = [
	{ area: "overview", path: paths.overviewPath, label: "Overview" },
	{ area: "conversions", path: paths.conversionsPath, label: "Conversions" },
	{ area: "programme-partners", path: paths.programmePartnersPath, label: "Partners" },
	{ area: "integration", path: paths.integrationPath, label: "Integration" },
	{ area: "people", path: paths.peoplePath, label: "People" },
	{ area: "settings", path: paths.settingsPath, label: "Settings" },
];
const PARTNER_PAGES: SidebarPages = [
	{ area: "earnings", path: paths.earningsPath, label: "Earnings" },
	{ area: "links", path: paths.partnerLinksPath, label: "Links" },
	{ area: "partner-conversions", path: paths.partnerConversionsPath, label: "Conversions" },
	{ area: "partner-statements", path: paths.partnerStatementsPath, label: "Statements" },
	{ area: "payment-details", path: paths.paymentDetailsPath, label: "Payment details" },
	{ area: "partner-callbacks", path: paths.partnerCallbacksPath, label: "Callbacks" },
	{ area: "open-programmes", path: paths.openProgrammesPath, label: "Find programmes" },
	{ area: "people", path: paths.partnerPeoplePath, label: "People" },
	{ area: "partner-api", path: paths.partnerApiPath, label: "API" },
];

/** Areas of an erased partner, which show its account. The others have only forms, or what is gone. */
const ERASED_PARTNER_AREAS: readonly Area[] = ["earnings", "partner-conversions", "partner-statements"];

export function renderDocument(view: DocumentView): Html {
	const { programme, partner, network, viewer, active, flash } = view;
	const whose = programme ?? partner;
	const where = whose === undefined ? titleOf(network) : `${whose.name} · ${titleOf(network)}`;
	return skeleton(
		{ title: `${view.title} · ${where}`, network, viewer, active },
		html`<body>
	<a class="skip-link" href="#main">Skip to content</a>
	<header class="topbar">
		${masthead(network)}
		${programme === undefined ? null : programmeName(viewer, programme)}
		${partner === undefined ? null : html`<div class="topbar-programme"><a href="${paths.earningsPath(partner.publicId)}">${partner.name}</a></div>`}
		<nav${attrs({ class: ["topbar-links", viewer?.kind === "staff" && "topbar-links-staff"] })} aria-label="Network">${topLinks(view)}${accountMenu(view)}</nav>
	</header>
	<div${attrs({ class: ["frame", whose === undefined && "frame-plain"] })}>
		${programme === undefined ? null : sidebar("Programme", PROGRAMME_PAGES, programme.publicId, view)}
		${partner === undefined ? null : sidebar("Partner", partnerPages(partner), partner.publicId, view)}
		<main id="main" tabindex="-1">
			${view.allowsPrivateRanges ? PRIVATE_RANGES_WARNING : null}
			${view.isSetUpOffered ? SET_UP_OFFER : null}
			${STAFF_AREAS.includes(active) ? warningNote(view.warnings) : null}
			${whose === undefined ? null : html`${pauseNotice(whose.pausedSinceMs)}<div id="${TROUBLE_TARGET}">${whose.trouble}</div>`}
			${flash === null ? null : message(flash.tone, flash.text)}
			${view.body}
		</main>
	</div>
	${pageFooter(network)}
</body>`,
	);
}

function partnerPages({ isErased }: DocumentPartner): SidebarPages {
	return isErased ? PARTNER_PAGES.filter(({ area }) => ERASED_PARTNER_AREAS.includes(area)) : PARTNER_PAGES;
}

/** Renders a page that is shown before sign-in, with a heading and a card. */
export function renderPlainDocument(view: Pick<DocumentView, "title" | "network" | "flash" | "body">): Html {
	const { network, flash } = view;
	return skeleton(
		{ title: `${view.title} · ${titleOf(network)}`, network, viewer: null },
		html`<body class="plain-page">
	<header>${masthead(network)}</header>
	<main id="main" tabindex="-1">
		${flash === null ? null : message(flash.tone, flash.text)}
		<div class="card"><div class="card-body"><div class="stack">${view.body}</div></div></div>
	</main>
	${pageFooter(network)}
</body>`,
	);
}

function skeleton(
	{ title, network, viewer, active }: Pick<DocumentView, "title" | "network" | "viewer"> & { active?: Area },
	body: Html,
): Html {
	const hasCharts = active !== undefined && AREAS_WITH_CHARTS.includes(active);
	return html`<!doctype html>
<html lang="en"${attrs({ "data-zone": viewer?.zone, "data-locale": viewer?.locale })}>
<head>
	<meta charset="utf-8">
	<meta name="viewport" content="width=device-width, initial-scale=1">
	<meta name="color-scheme" content="light dark">
	<meta name="htmx-config" content='{"includeIndicatorCSS":false,"morphIgnore":["data-htmx-powered","open"]}'>
	<title>${title}</title>
	<link rel="icon" href="${assetUrl("icon.svg")}" type="image/svg+xml">
	${hasCharts ? html`<link rel="stylesheet" href="${assetUrl("uplot.css")}">` : null}
	<link rel="stylesheet" href="${assetUrl("style.css")}">
	${active === "docs" ? html`<link rel="stylesheet" href="${assetUrl("docs.css")}">` : null}
	${network.colour === null ? null : html`<link rel="stylesheet" href="${themeUrl(network.colour)}">`}
	${hasCharts ? html`<script src="${assetUrl("uplot.js")}" defer></script>` : null}
	<script src="${assetUrl("page.js")}" defer></script>
	<script src="${assetUrl("htmx.js")}" defer></script>
</head>
${body}
</html>`;
}

function programmeName(viewer: Viewer | null, { publicId, name }: DocumentProgramme): Html {
	const isAlone = viewer?.kind === "shop" && viewer.programmeCount < 2;
	return html`<div class="topbar-programme"><a href="${paths.overviewPath(publicId)}">${name}</a>${
		isAlone ? null : html`<a class="small soft" href="${paths.PROGRAMMES_PATH}">Switch</a>`
	}</div>`;
}

interface TopLink {
	area: Area;
	href: string;
	label: string;
	/**
	 * Label in the account menu. On a phone the bar has no room for all links of staff, so links with this
	 * label move to the menu.
	 */
	inMenu?: string;
}

const STAFF_LINKS: readonly TopLink[] = [
	{ area: "programmes", href: paths.PROGRAMMES_PATH, label: "Programmes" },
	{ area: "partners", href: paths.PARTNERS_PATH, label: "Partners" },
	{ area: "statements", href: paths.STATEMENTS_PATH, label: "Statements", inMenu: "Statements" },
	{ area: "totals", href: paths.TOTALS_PATH, label: "Totals", inMenu: "Network totals" },
	{
		area: "all-conversions",
		// The link opens the list with the conversions that staff can still reject.
		href: paths.withQuery(paths.ALL_CONVERSIONS_PATH, { status: "RECORDED" }),
		label: "Conversions",
	},
	{ area: "staff", href: paths.STAFF_PATH, label: "Staff", inMenu: "Staff" },
	{ area: "network", href: paths.NETWORK_PATH, label: "Network", inMenu: "Network settings" },
	{ area: "system", href: paths.SYSTEM_PATH, label: "System", inMenu: "System and audit log" },
];

/** Section of the documentation for people who belong only to a partner. */
const PARTNER_GUIDE = `${paths.PARTNER_DOCS_PATH}#for-partners-links-and-sub-ids`;

function isPartnerAlone(viewer: Viewer | null): boolean {
	return viewer !== null && viewer.partners.length > 0 && viewer.programmeCount === 0;
}

function topLinks({ viewer, active, waitingAddresses }: DocumentView): Content {
	const href = isPartnerAlone(viewer) ? PARTNER_GUIDE : paths.DOCS_PATH;
	const docs: TopLink = { area: "docs", href, label: "Docs" };
	return [...staffLinksOf(viewer), docs].map(({ area, href, label, inMenu }) => {
		const isWideOnly = inMenu !== undefined || (area === "docs" && viewer !== null);
		return html`<a${attrs({ href, class: [isWideOnly && "wide-only"], "aria-current": area === active && "page" })}>${label}${area === "partners" && waitingAddresses > 0 ? countBadge("info", String(waitingAddresses), "to confirm") : null}</a>`;
	});
}

function staffLinksOf(viewer: Viewer | null): readonly TopLink[] {
	return viewer?.kind === "staff" && !viewer.awaitsAuthenticator ? STAFF_LINKS : [];
}

/** Returns the name of a partner, with its site if others have the same name. */
function nameAmong(partners: Viewer["partners"], { name, site, archived_at_ms }: Partner): string {
	const isShared = partners.filter((other) => other.name === name).length > 1;
	const label = isShared && site !== "" ? `${name} (${site})` : name;
	return archived_at_ms === null ? label : `${label}, archived`;
}

function accountMenu({ viewer }: DocumentView): Html {
	if (viewer === null) return html`<a href="${paths.SIGN_IN_PATH}">Sign in</a>`;
	const links = [
		...viewer.partners.map((partner) => [
			paths.earningsPath(partner.public_id),
			`Partner: ${nameAmong(viewer.partners, partner)}`,
		]),
		...(viewer.partners.length > 0 && viewer.programmeCount > 0
			? [[paths.PROGRAMMES_PATH, "Programmes"]]
			: []),
		...(viewer.awaitsAuthenticator ? [] : [[paths.ACCOUNT_PATH, "Account settings"]]),
		...staffLinksOf(viewer).flatMap(({ href, inMenu }) => (inMenu === undefined ? [] : [[href, inMenu]])),
		...(staffLinksOf(viewer).length === 0 ? [] : [[paths.IMPORT_PATH, "Import from other software"]]),
		isPartnerAlone(viewer)
			? [PARTNER_GUIDE, "Documentation for partners"]
			: [paths.DOCS_PATH, "Documentation for developers"],
	];
	// On a narrow screen, pages of staff that have no room in the bar are only in this menu.
	const label =
		staffLinksOf(viewer).length === 0
			? "Account"
			: html`<span class="wide-only">Account</span><span class="narrow-only">Menu</span>`;
	return html`<details class="menu"><summary>${label}</summary><div class="menu-panel">
	<p class="small soft">${viewer.email}${viewer.kind === "staff" ? " · staff" : ""}</p>
	${links.map(([href, label]) => html`<a class="break" href="${href}">${label}</a>`)}
	<form method="post" action="${paths.SIGN_OUT_PATH}"><button type="submit">Sign out</button></form>
</div></details>`;
}

function sidebar(
	label: string,
	pages: SidebarPages,
	publicId: string,
	{ active, programme, partner }: DocumentView,
): Html {
	return html`<nav class="sidebar" aria-label="${label}">${pages.map(
		({ area, path, label: page }) =>
			html`<a href="${path(publicId)}"${attrs({ "aria-current": area === active && "page" })}>${page}${navigationBadge(
				area,
				programme,
				partner,
			)}</a>`,
	)}</nav>`;
}

/**
 * Returns the badge of a link in the navigation. "Partners" shows the number of open applications. "Overview" of a
 * programme and "Callbacks" of a partner show the number of failed callbacks, or 1 if callbacks are failing now.
 */
function navigationBadge(
	area: Area,
	programme: DocumentProgramme | undefined,
	partner: DocumentPartner | undefined,
): Html | null {
	const applications = programme?.applications ?? 0;
	if (area === "programme-partners" && applications > 0)
		return countBadge("info", String(applications), "to answer");
	const owner = area === "overview" ? programme : area === "partner-callbacks" ? partner : undefined;
	if (owner === undefined || (owner.trouble === null && owner.failed === 0)) return null;
	const { failed } = owner;
	return failed === 0
		? countBadge("bad", "1", "open")
		: countBadge("bad", countUndelivered(failed), "failed");
}

/** Returns a badge with a number. `what` tells screen readers what the number counts. */
function countBadge(tone: "bad" | "info", count: Content, what: string): Html {
	return html`<span class="badge badge-${tone}">${count}<span class="visually-hidden"> ${what}</span></span>`;
}

const PRIVATE_RANGES_WARNING = message(
	"warn",
	html`<strong>Development setting:</strong> callbacks may go to private addresses (RINGBACK_ALLOWED_PRIVATE_RANGES). Never run like this in production.`,
);
/** Message for staff with a link to the set-up. It is shown until they finish the set-up. */
const SET_UP_OFFER = message(
	"info",
	html`<strong>Set up your network:</strong> some steps are left. <a href="${paths.NETWORK_PATH}">Continue</a>`,
);

/**
 * Returns the notice that callbacks are paused. Shops see it as well, because they would otherwise look for a
 * mistake of their own.
 */
function pauseNotice(pausedSinceMs: number | null): Html | null {
	if (pausedSinceMs === null) return null;
	return message(
		"info",
		html`<strong>Callbacks are paused</strong> by the network since ${timeTag(pausedSinceMs)}. None is lost: all waiting callbacks are sent when the pause ends.`,
	);
}

/** Returns a message with the number of warnings. The System page lists the warnings. */
function warningNote({ length }: readonly Warning[]): Html | null {
	if (length === 0) return null;
	const words = length === 1 ? "1 warning" : `${length} warnings`;
	return message(
		"warn",
		html`<strong>${words} about this installation.</strong> <a href="${paths.SYSTEM_PATH}">See what to put right</a>`,
	);
}

// The network's name and logo at the top of the page, and its contact at the bottom.

type Masthead = Pick<NetworkFace, "name" | "brand" | "logo" | "colour" | "supportAddress">;

/** Name of a network that has chosen neither a name nor a brand. */
export const UNNAMED_TITLE = "Ringback";

/** Returns the name of the network for titles and sentences, or "Ringback" if it has no name yet. */
export function titleOf(face: Masthead): string {
	return networkName(face) ?? UNNAMED_TITLE;
}

/** Ratio of width to height from which a logo is assumed to contain the network's name. */
const WORDMARK_RATIO = 2;

function masthead(face: Masthead): Html {
	const { logo } = face;
	const isWordmark = logo !== null && logo.width >= WORDMARK_RATIO * logo.height;
	const name = html`<span${attrs({ class: ["brand-name", isWordmark && "visually-hidden"] })}>${titleOf(face)}</span>`;
	return html`<a class="brand" href="${paths.START_PATH}">${logo === null ? MARK : logoImage(logo)}${name}</a>`;
}

/**
 * Returns the logo with an empty alternative text, because the name always follows it, if only for screen
 * readers.
 */
export function logoImage({ hash, width, height }: KnownLogo): Html {
	return html`<img class="brand-logo" src="${logoUrl(hash)}" alt="" width="${width}" height="${height}">`;
}

const MARK = html`<svg class="brand-mark" viewBox="0 0 24 24" aria-hidden="true"><path d="M4 12a8 8 0 1 0 8-8"/><path d="M12 8a4 4 0 1 1-4 4"/><circle cx="12" cy="12" r="0.6"/></svg>`;

function pageFooter({ supportAddress }: Masthead): Html {
	return html`<footer class="page-footer">${
		supportAddress === null
			? null
			: html`<span>Questions? <a href="mailto:${supportAddress}">${supportAddress}</a></span>`
	}<span>Runs on Ringback</span></footer>`;
}
