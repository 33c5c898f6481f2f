// The whole page around its content: for people who are signed in, and the plain card for those who are not.

import type { Env, Hono } from "hono";
import { networkName } from "../domain/network.ts";
import type { PersonKind } from "../domain/roles.ts";
import type { Warning } from "../domain/warning.ts";
import type { KnownLogo, NetworkFace } from "../store/queries/known-network.ts";
import { findLogo } from "../store/queries/network.ts";
import type { Store } from "../store/store.ts";
import { assetUrl, KEPT_FOR_EVER, STYLE } from "./assets.ts";
import { TROUBLE_TARGET } from "./conversion-ui.ts";
import {
	ACCOUNT_PATH,
	ALL_CONVERSIONS_PATH,
	conversionsPath,
	DOCS_PATH,
	IMPORT_PATH,
	integrationPath,
	NETWORK_PATH,
	overviewPath,
	PROGRAMMES_PATH,
	peoplePath,
	SIGN_IN_PATH,
	SIGN_OUT_PATH,
	STAFF_PATH,
	START_PATH,
	SYSTEM_PATH,
	settingsPath,
	TOTALS_PATH,
	withQuery,
} from "./paths.ts";
import { attrs, type Content, type Html, html, message, timeTag } from "./ui.ts";

interface DocumentViewer {
	email: string;
	kind: PersonKind;
	/** How times are written for them; null for the browser's own. */
	zone: string | null;
	locale: string | null;
	/** More than one: then there is something to switch between. */
	programmeCount: number;
	/** Nothing else can be opened until it is set up: links to the rest would only lead back. */
	awaitsAuthenticator: boolean;
}

export interface DocumentProgramme {
	publicId: string;
	name: string;
	/** That its callbacks are failing: on every page of it. Null while they work. */
	trouble: Html | null;
	/** The operator holds all callbacks since then; null while they are sent. */
	pausedSinceMs: number | null;
}

export type Area =
	| "overview"
	| "integration"
	| "conversions"
	| "settings"
	| "people"
	| "all-conversions"
	| "totals"
	| "programmes"
	| "staff"
	| "network"
	| "system"
	| "account"
	| "docs";

/** Only these load the chart library, which is 50 KB. */
const AREAS_WITH_CHARTS: readonly Area[] = ["overview", "integration", "totals"];
/** Staff's own pages. Those of a programme are about the shop, and not about the installation. */
export const STAFF_AREAS: readonly Area[] = ["programmes", "totals", "all-conversions", "staff", "network"];

export interface Flash {
	tone: "good" | "bad" | "warn" | "info";
	text: string;
	/** The id of the part of the page that shows it; above everything unless told. */
	at?: string | undefined;
}

/** How far the set-up of the network is. */
export interface SetUpProgress {
	done: number;
	steps: number;
}

interface DocumentView {
	title: string;
	/** Whose page it is. */
	network: Masthead;
	/** Null for a stranger, who may read what is public. */
	viewer: DocumentViewer | null;
	active: Area;
	programme?: DocumentProgramme | undefined;
	flash?: Flash | undefined;
	/** The hidden field for the sign-out form; a stranger has none. */
	csrf: Html | null;
	/** A development setting that must not go unnoticed. */
	allowsPrivateRanges: boolean;
	/** About the installation, for staff alone. */
	warnings: readonly Warning[];
	/** For staff alone, while it is offered; null on the set-up's own page. */
	setUp: SetUpProgress | null;
	body: Content;
}

const PROGRAMME_PAGES: readonly { area: Area; path(programmeId: string): string; label: string }[] = [
	{ area: "overview", path: overviewPath, label: "Overview" },
	{ area: "conversions", path: conversionsPath, label: "Conversions" },
	{ area: "integration", path: integrationPath, label: "Integration" },
	{ area: "people", path: peoplePath, label: "People" },
	{ area: "settings", path: settingsPath, label: "Settings" },
];

export function renderDocument(view: DocumentView): Html {
	const { programme, network } = view;
	const where = programme === undefined ? titleOf(network) : `${programme.name} · ${titleOf(network)}`;
	return skeleton(
		`${view.title} · ${where}`,
		{
			network,
			hasCharts: AREAS_WITH_CHARTS.includes(view.active),
			isDocs: view.active === "docs",
			viewer: view.viewer,
		},
		html`<body>
	<a class="skip-link" href="#main">Skip to content</a>
	<header class="topbar">
		${masthead(network)}
		${programme === undefined ? null : programmeName(view.viewer, programme)}
		<nav${attrs({ class: ["topbar-links", view.viewer?.kind === "staff" && "topbar-links-staff"] })} aria-label="Network">${topLinks(view)}${accountMenu(view)}</nav>
	</header>
	<div${attrs({ class: ["frame", programme === undefined && "frame-plain"] })}>
		${programme === undefined ? null : sidebar(programme, view.active)}
		<main id="main" tabindex="-1">
			${view.allowsPrivateRanges ? privateRangesWarning() : null}
			${STAFF_AREAS.includes(view.active) ? setUpOffer(view) : null}
			${STAFF_AREAS.includes(view.active) ? warningList(view.warnings, view.active === "programmes") : null}
			${programme === undefined ? null : html`${pauseNotice(programme)}<div id="${TROUBLE_TARGET}">${programme.trouble}</div>`}
			${view.flash === undefined ? null : message(view.flash.tone, view.flash.text)}
			${view.body}
		</main>
	</div>
	${pageFooter(network)}
</body>`,
	);
}

/** For signing in and everything before it. */
export function renderPlainDocument(view: {
	title: string;
	network: Masthead;
	flash?: Flash | undefined;
	body: Content;
}): Html {
	const { network } = view;
	return skeleton(
		`${view.title} · ${titleOf(network)}`,
		{ network, hasCharts: false, isDocs: false, viewer: null },
		html`<body class="plain-page">
	<header>${masthead(network)}</header>
	<main id="main" tabindex="-1">
		${view.flash === undefined ? null : message(view.flash.tone, view.flash.text)}
		<div class="card"><div class="card-body">${view.body}</div></div>
	</main>
	${pageFooter(network)}
</body>`,
	);
}

interface Needs {
	network: Masthead;
	hasCharts: boolean;
	isDocs: boolean;
	viewer: DocumentViewer | null;
}

function skeleton(title: string, { network, hasCharts, isDocs, viewer }: Needs, body: Html): Html {
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
	${isDocs ? html`<link rel="stylesheet" href="${assetUrl("docs.css")}">` : null}
	${themeLink(network)}
	${hasCharts ? html`<script src="${assetUrl("uplot.js")}" defer></script>` : null}
	<script src="${assetUrl("page.js")}" defer></script>
	<script src="${assetUrl("htmx.js")}" defer></script>
</head>
${body}
</html>`;
}

function programmeName(viewer: DocumentViewer | null, { publicId, name }: DocumentProgramme): Html {
	const isAlone = viewer?.kind === "shop" && viewer.programmeCount < 2;
	return html`<div class="topbar-programme"><a href="${overviewPath(publicId)}">${name}</a>${
		isAlone ? null : html`<a class="small soft" href="${PROGRAMMES_PATH}">Switch</a>`
	}</div>`;
}

interface TopLink {
	area: Area;
	href: string;
	label: string;
}

const STAFF_LINKS: readonly TopLink[] = [
	{ area: "programmes", href: PROGRAMMES_PATH, label: "Programmes" },
	{ area: "totals", href: TOTALS_PATH, label: "Totals" },
	// With what they can still reject.
	{
		area: "all-conversions",
		href: withQuery(ALL_CONVERSIONS_PATH, { status: "RECORDED" }),
		label: "Conversions",
	},
	{ area: "staff", href: STAFF_PATH, label: "Staff" },
	{ area: "network", href: NETWORK_PATH, label: "Network" },
	{ area: "system", href: SYSTEM_PATH, label: "System" },
];
/** On a phone there is no room for all of staff's links: these are in the account's menu too. */
const WIDE_ONLY: readonly Area[] = ["totals", "network", "system"];
const DOCS_LINK: TopLink = { area: "docs", href: DOCS_PATH, label: "Docs" };

function topLinks({ viewer, active }: DocumentView): Content {
	const seesAll = viewer?.kind === "staff" && !viewer.awaitsAuthenticator;
	const links = seesAll ? [...STAFF_LINKS, DOCS_LINK] : [DOCS_LINK];
	return links.map(({ area, href, label }) => {
		const isWideOnly = WIDE_ONLY.includes(area) || (area === "docs" && viewer !== null);
		return html`<a${attrs({ href, class: [isWideOnly && "wide-only"], "aria-current": area === active && "page" })}>${label}</a>`;
	});
}

function accountMenu({ viewer, csrf }: DocumentView): Html {
	if (viewer === null) return html`<a href="${SIGN_IN_PATH}">Sign in</a>`;
	return html`<details class="menu"><summary>Account</summary><div class="menu-panel">
	<p class="small soft">${viewer.email}${viewer.kind === "staff" ? " · staff" : ""}</p>
	${viewer.awaitsAuthenticator ? null : html`<a href="${ACCOUNT_PATH}">Account settings</a>`}
	${
		viewer.kind === "staff" && !viewer.awaitsAuthenticator
			? html`<a href="${TOTALS_PATH}">Network totals</a><a href="${NETWORK_PATH}">Network settings</a><a href="${IMPORT_PATH}">Import from other software</a><a href="${SYSTEM_PATH}">System and audit log</a>`
			: null
	}
	<a href="${DOCS_PATH}">Documentation for developers</a>
	<form method="post" action="${SIGN_OUT_PATH}">${csrf}<button type="submit">Sign out</button></form>
</div></details>`;
}

function sidebar({ publicId, trouble }: DocumentProgramme, active: Area): Html {
	return html`<nav class="sidebar" aria-label="Programme">${PROGRAMME_PAGES.map(
		({ area, path, label }) =>
			html`<a href="${path(publicId)}"${attrs({ "aria-current": area === active && "page" })}>${label}${
				area === "overview" && trouble !== null
					? html`<span class="badge badge-bad">1<span class="visually-hidden"> open</span></span>`
					: null
			}</a>`,
	)}</nav>`;
}

function privateRangesWarning(): Html {
	return message(
		"warn",
		html`<strong>Development setting:</strong> callbacks may go to private addresses (RINGBACK_ALLOWED_PRIVATE_RANGES). Never run like this in production.`,
	);
}

/** For the shop's people too: nothing arrives, and nothing of theirs is wrong. */
function pauseNotice({ pausedSinceMs }: DocumentProgramme): Html | null {
	if (pausedSinceMs === null) return null;
	return message(
		"info",
		html`<strong>Callbacks are paused</strong> by the network since ${timeTag(pausedSinceMs)}. None is lost: all that wait are sent when the pause ends.`,
	);
}

/** Until it is finished, or somebody wants to see it no more: both are done on its own page. */
function setUpOffer({ setUp }: DocumentView): Html | null {
	if (setUp === null) return null;
	return message(
		"info",
		html`<strong>Set up your network:</strong> ${setUp.done} of ${setUp.steps} steps done. <a href="${NETWORK_PATH}">Continue</a>`,
	);
}

/** What staff should put right about the installation: on their home page in full, on their others in one line. */
function warningList(warnings: readonly Warning[], isOpen: boolean): Html | null {
	if (warnings.length === 0) return null;
	const count = warnings.length === 1 ? "1 warning" : `${warnings.length} warnings`;
	return html`<details class="message message-warn warnings" ${isOpen ? html`open` : null}><summary>${count} about this installation</summary><ul>${warnings.map(
		({ title, text }) => html`<li><strong>${title}.</strong> ${text}</li>`,
	)}</ul><p class="small soft">Only staff see this. Settings are environment variables of the service. Changes take effect after a restart.</p></details>`;
}

// The network on every page: its name and logo at the top, its colour, and below the page whom to ask.

type Masthead = Pick<NetworkFace, "name" | "brand" | "logo" | "colour" | "supportAddress">;

/** What stands in a title, and where the network is spoken of. */
export function titleOf(face: Masthead): string {
	return networkName(face) ?? "Ringback";
}

/** A picture twice as wide as high holds the name already. */
const WORDMARK_RATIO = 2;

function masthead(face: Masthead): Html {
	const { logo } = face;
	const isWordmark = logo !== null && logo.width >= WORDMARK_RATIO * logo.height;
	const name = html`<span${attrs({ class: ["brand-name", isWordmark && "visually-hidden"] })}>${titleOf(face)}</span>`;
	return html`<a class="brand" href="${START_PATH}">${logo === null ? MARK : logoImage(logo)}${name}</a>`;
}

/** Its name stands beside it, seen or not. */
export function logoImage({ hash, width, height }: KnownLogo): Html {
	return html`<img class="brand-logo" src="${logoUrl(hash)}" alt="" width="${width}" height="${height}">`;
}

const MARK = html`<svg class="brand-mark" viewBox="0 0 24 24" aria-hidden="true"><path d="M4 12a8 8 0 1 0 8-8"/><path d="M12 8a4 4 0 1 1-4 4"/><circle cx="12" cy="12" r="0.6"/></svg>`;

/** After the sheet whose variables it changes. */
function themeLink({ colour }: Masthead): Html | null {
	return colour === null ? null : html`<link rel="stylesheet" href="${themeUrl(colour)}">`;
}

function pageFooter({ supportAddress }: Masthead): Html {
	return html`<footer class="page-footer">${
		supportAddress === null
			? null
			: html`<span>Questions? <a href="mailto:${supportAddress}">${supportAddress}</a></span>`
	}<span>Runs on Ringback</span></footer>`;
}

// What the network brings to the look of the pages: its logo, and its colour as a style sheet of a few variables. Both
// under an address that changes with them, so that a browser may keep them for ever.

function themeUrl(colour: string): string {
	return `/assets/theme/${colour.slice(1)}.css`;
}

function logoUrl(hash: string): string {
	return `/assets/logo/${hash}`;
}

export function mountNetworkAssets<AppEnv extends Env>(app: Hono<AppEnv>, { db }: Pick<Store, "db">): void {
	// Made from the colour in its address alone: every process answers it alike, whatever the network has chosen by now.
	app.get("/assets/theme/:name", (c) => {
		const [, digits] = /^([\da-f]{6})\.css$/.exec(c.req.param("name")) ?? [];
		if (digits === undefined) return c.notFound();
		return c.body(writeTheme(`#${digits}`), 200, {
			"content-type": STYLE,
			"cache-control": KEPT_FOR_EVER,
		});
	});
	app.get("/assets/logo/:hash", async (c) => {
		const hash = c.req.param("hash");
		const logo = /^[\da-f]{16}$/.test(hash) ? await findLogo(db, hash) : undefined;
		if (logo === undefined) return c.notFound();
		return c.body(Uint8Array.from(logo.bytes), 200, {
			"content-type": logo.type,
			"cache-control": KEPT_FOR_EVER,
		});
	});
}

/**
 * What the style sheet's variables become: the colour, no lighter on the light theme and no darker on the dark one than can
 * be read. The bounds of its lightness were tried with 239 colours, the corners of the cube among them, on every ground of
 * base.css: links and the text on buttons have a contrast of 4.5, buttons one of 3 (WCAG 2.2, 1.4.3 and 1.4.11). A browser
 * that knows no relative colours shows Ringback's own.
 */
function writeTheme(colour: string): string {
	const bounded = (light: number, dark: number) =>
		`light-dark(oklch(from ${colour} min(l,${light}) c h),oklch(from ${colour} max(l,${dark}) c h))`;
	const soft = `light-dark(color-mix(in srgb,${colour} 10%,#fff),color-mix(in srgb,${colour} 22%,#151a21))`;
	return `@supports (color:oklch(from red l c h)){:root{--accent:${bounded(0.51, 0.7)};--accent-text:${bounded(0.47, 0.82)};--accent-ink:light-dark(#fff,#000);--accent-soft:${soft}}}`;
}
