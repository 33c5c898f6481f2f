// The HTML document around a page's content. Pages for signed-in people have a full frame, and pages before
// sign-in have only a plain card.

import { networkName } from "../domain/network.ts";
import type { PersonKind } from "../domain/roles.ts";
import type { Warning } from "../domain/warning.ts";
import type { NetworkFace, NetworkLogo } from "../store/network-cache.ts";
import type { Partner } from "../store/tables/partners.ts";
import { assetUrl, logoUrl, themeUrl } from "./assets.ts";
import { TROUBLE_TARGET } from "./conversion-ui.ts";
import {
	type Area,
	type DocumentOwner,
	type DocumentPartner,
	hasCharts,
	isStaffArea,
	type Menus,
	type SidebarLink,
	type WaitingCounts,
	waitingBadge,
} from "./menu.ts";
import * as paths from "./paths.ts";
import { attrs, type Content, type Html, html, message, timeTag } from "./ui.ts";

/** Person who is signed in, as far as pages show them. */
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
	/** Partners to which the person belongs. */
	partners: readonly Partner[];
	hasAuthenticator: boolean;
	/** True if the person is staff and must set up an authenticator before opening any other page. */
	awaitsAuthenticator: boolean;
}

export interface Flash {
	tone: "good" | "bad" | "warn" | "info";
	text: string;
	/** Id of the section that shows the message. By default the message is at the top of the page. */
	at?: string | undefined;
}

interface DocumentView {
	title: string;
	/** Network to which the page belongs. */
	network: Masthead;
	menus: Menus;
	/** Signed-in person, or null for a visitor who is not signed in. */
	viewer: Viewer | null;
	active: Area;
	programme: DocumentOwner | undefined;
	/** Partner to which the page belongs, or undefined on all other pages. */
	partner: DocumentPartner | undefined;
	/** Message with the result of the last form, or null. */
	flash: Flash | null;
	/** True if callbacks may go to private addresses. Every page warns about this development setting. */
	allowsPrivateRanges: boolean;
	/** Numbers of things that staff must answer. Empty if the reader is not staff. */
	waiting: WaitingCounts;
	/** Warnings about the installation. Empty if the reader is not staff. */
	warnings: readonly Warning[];
	isSetUpOffered: boolean;
	body: Content;
}

export function renderDocument(view: DocumentView): Html {
	const { programme, partner, network, viewer, active, flash, menus } = view;
	const whose = programme ?? partner;
	const where = whose === undefined ? titleOf(network) : `${whose.name} · ${titleOf(network)}`;
	return skeleton(
		{ title: `${view.title} · ${where}`, network, viewer, active, hasCharts: hasCharts(menus, active) },
		html`<body>
	<a class="skip-link" href="#main">Skip to content</a>
	<header class="topbar">
		${masthead(network)}
		${programme === undefined ? null : programmeName(viewer, programme)}
		${partner === undefined ? null : html`<div class="topbar-programme"><a href="${paths.earningsPath(partner.publicId)}">${partner.name}</a></div>`}
		<nav${attrs({ class: ["topbar-links", viewer?.kind === "staff" && "topbar-links-staff"] })} aria-label="Network">${topLinks(view)}${accountMenu(view)}</nav>
	</header>
	<div${attrs({ class: ["frame", whose === undefined && "frame-plain"] })}>
		${programme === undefined ? null : sidebar("Programme", menus.programme, programme, active)}
		${partner === undefined ? null : sidebar("Partner", partnerLinks(menus, partner), partner, active)}
		<main id="main" tabindex="-1">
			${view.allowsPrivateRanges ? PRIVATE_RANGES_WARNING : null}
			${view.isSetUpOffered ? SET_UP_OFFER : null}
			${isStaffArea(menus, active) ? warningNote(view.warnings) : null}
			${whose === undefined ? null : html`${pauseNotice(whose.pausedSinceMs)}<div id="${TROUBLE_TARGET}">${whose.trouble}</div>`}
			${flash === null ? null : message(flash.tone, flash.text)}
			${view.body}
		</main>
	</div>
	${pageFooter(network)}
</body>`,
	);
}

function partnerLinks({ partner: links }: Menus, { isErased }: DocumentPartner): Menus["partner"] {
	return isErased ? links.filter(({ staysAfterErasure }) => staysAfterErasure) : links;
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
	{
		title,
		network,
		viewer,
		active,
		hasCharts = false,
	}: Pick<DocumentView, "title" | "network" | "viewer"> & { active?: Area; hasCharts?: boolean },
	body: Html,
): Html {
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

function programmeName(viewer: Viewer | null, { publicId, name }: DocumentOwner): Html {
	const isAlone = viewer?.kind === "shop" && viewer.programmeCount < 2;
	return html`<div class="topbar-programme"><a href="${paths.overviewPath(publicId)}">${name}</a>${
		isAlone ? null : html`<a class="small soft" href="${paths.PROGRAMMES_PATH}">Switch</a>`
	}</div>`;
}

function isPartnerAlone(viewer: Viewer | null): boolean {
	return viewer !== null && viewer.partners.length > 0 && viewer.programmeCount === 0;
}

function topLinks(view: DocumentView): Content {
	const { viewer, active } = view;
	const href = isPartnerAlone(viewer) ? paths.PARTNER_GUIDE_PATH : paths.DOCS_PATH;
	const docs: Menus["staff"][number] = { area: "docs", href, label: "Docs" };
	return [...staffLinksOf(view), docs].map((link) => {
		const { area, href, label, inMenu } = link;
		if (label === undefined) return null;
		const isWideOnly = inMenu !== undefined || (area === "docs" && viewer !== null);
		return html`<a${attrs({ href, class: [isWideOnly && "wide-only"], "aria-current": area === active && "page" })}>${label}${waitingBadge(link, view.waiting)}</a>`;
	});
}

function staffLinksOf({ viewer, menus }: DocumentView): Menus["staff"] {
	return viewer?.kind === "staff" && !viewer.awaitsAuthenticator ? menus.staff : [];
}

/** Returns the name of a partner, with its site if others have the same name. */
function nameAmong(partners: Viewer["partners"], { name, site, archived_at_ms }: Partner): string {
	const isShared = partners.filter((other) => other.name === name).length > 1;
	const label = isShared && site !== "" ? `${name} (${site})` : name;
	return archived_at_ms === null ? label : `${label}, archived`;
}

function accountMenu(view: DocumentView): Html {
	const { viewer } = view;
	if (viewer === null) return html`<a href="${paths.SIGN_IN_PATH}">Sign in</a>`;
	const staffLinks = staffLinksOf(view);
	const links = [
		...viewer.partners.map((partner) => [
			paths.earningsPath(partner.public_id),
			`Partner: ${nameAmong(viewer.partners, partner)}`,
		]),
		...(viewer.partners.length > 0 && viewer.programmeCount > 0
			? [[paths.PROGRAMMES_PATH, "Programmes"]]
			: []),
		...(viewer.awaitsAuthenticator ? [] : [[paths.ACCOUNT_PATH, "Account settings"]]),
		...staffLinks.flatMap(({ href, inMenu }) => (inMenu === undefined ? [] : [[href, inMenu]])),
		isPartnerAlone(viewer)
			? [paths.PARTNER_GUIDE_PATH, "Documentation for partners"]
			: [paths.DOCS_PATH, "Documentation"],
	];
	// A narrow screen has no room for all pages of staff in the bar, so some of them are only in this menu.
	const label =
		staffLinks.length === 0
			? "Account"
			: html`<span class="wide-only">Account</span><span class="narrow-only">Menu</span>`;
	return html`<details class="menu"><summary>${label}</summary><div class="menu-panel">
	<p class="small soft">${viewer.email}${viewer.kind === "staff" ? " · staff" : ""}</p>
	${links.map(([href, label]) => html`<a class="break" href="${href}">${label}</a>`)}
	<form method="post" action="${paths.SIGN_OUT_PATH}"><button type="submit">Sign out</button></form>
</div></details>`;
}

function sidebar<Owner extends DocumentOwner>(
	label: string,
	links: readonly SidebarLink<Owner>[],
	owner: Owner,
	active: Area,
): Html {
	return html`<nav class="sidebar" aria-label="${label}">${links.map((link) => {
		const { area, path, label: page, badge } = link;
		return html`<a href="${path(owner.publicId)}"${attrs({ "aria-current": area === active && "page" })}>${page}${badge?.(owner) ?? waitingBadge(link, owner.waiting)}</a>`;
	})}</nav>`;
}

const PRIVATE_RANGES_WARNING = message(
	"warn",
	html`<strong>Development setting:</strong> callbacks may go to private addresses (RINGBACK_ALLOWED_PRIVATE_RANGES). Never run like this in production.`,
);
/** Message for staff with a link to the set-up. The message is shown until they finish the set-up. */
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

// Network's name and logo for the top of the page, and its contact for the bottom.

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
 * Returns the logo with an empty alternative text, because the name follows the logo for screen readers in any case.
 */
export function logoImage({ hash, width, height }: NetworkLogo): Html {
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
