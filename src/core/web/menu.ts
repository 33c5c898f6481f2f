// Defines the menus around the content of a page. This file has the links of the core, and modules add theirs.

import { type Addition, withAdditions } from "../domain/addition.ts";
import type { Db } from "../store/store.ts";
import { countUndelivered } from "./conversion-ui.ts";
import * as paths from "./paths.ts";
import { type Content, type Html, html } from "./ui.ts";

/** Shop or partner to whom the page belongs, with the state of their callbacks. */
export interface DocumentOwner {
	publicId: string;
	name: string;
	/** Banner that says that callbacks fail, shown on every page of the owner, or null if they work. */
	trouble: Html | null;
	/** Number of callbacks that failed permanently and were neither resent nor set aside. */
	failed: number;
	/** Time at which the operator paused all callbacks, or null if they are not paused. */
	pausedSinceMs: number | null;
	waiting: WaitingCounts;
}

/** Numbers of things that wait for an answer, by the area whose page lists them. */
export type WaitingCounts = ReadonlyMap<Area, number>;

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

interface MenuLink {
	area: Area;
	/** True if pages of the area load the chart library, which has 50 KB. */
	hasCharts?: true;
}

/** Things that somebody must answer on the page of a link. A badge at the link shows their number, unless it is 0. */
interface WaitingThings {
	/** Words after the number for screen readers, such as "to answer". */
	what: string;
}

/** Link for staff at the top of every page. */
interface StaffLink extends MenuLink {
	href: string;
	/** Label in the bar. If it is left out, the link is only in the account menu. */
	label?: string;
	/**
	 * Label in the account menu. On a phone the bar has no room for all links of staff, so links with this
	 * label move to the menu.
	 */
	inMenu?: string;
	waiting?: WaitingThings & { count(db: Db): Promise<number> };
}

/** Link in the sidebar of a programme or of a partner. */
export interface SidebarLink<Owner extends DocumentOwner> extends MenuLink {
	path(publicId: string): string;
	label: string;
	badge?(owner: Owner): Html | null;
	waiting?: WaitingThings & { count(db: Db, ownerId: number): Promise<number> };
}

interface PartnerLink extends SidebarLink<DocumentPartner> {
	/**
	 * True for pages that show the partner's account, which stays after an erasure. The other pages have only forms or
	 * data that was erased.
	 */
	staysAfterErasure?: true;
}

export interface Menus {
	staff: readonly StaffLink[];
	programme: readonly SidebarLink<DocumentOwner>[];
	partner: readonly PartnerLink[];
}

/** Links that a module adds to each menu. */
export type MenuAdditions = { [Menu in keyof Menus]?: readonly Addition<Menus[Menu][number]>[] };

const CORE_MENUS: Menus = {
	staff: [
		{ area: "programmes", href: paths.PROGRAMMES_PATH, label: "Programmes" },
		{
			area: "totals",
			href: paths.TOTALS_PATH,
			label: "Totals",
			inMenu: "Network totals",
			hasCharts: true,
		},
		{
			area: "all-conversions",
			// This address opens the list with the conversions that staff can still reject.
			href: paths.withQuery(paths.ALL_CONVERSIONS_PATH, { status: "RECORDED" }),
			label: "Conversions",
		},
		{ area: "staff", href: paths.STAFF_PATH, label: "Staff", inMenu: "Staff" },
		{ area: "network", href: paths.NETWORK_PATH, label: "Network", inMenu: "Network settings" },
		{ area: "system", href: paths.SYSTEM_PATH, label: "System", inMenu: "System and audit log" },
	],
	programme: [
		{
			area: "overview",
			path: paths.overviewPath,
			label: "Overview",
			hasCharts: true,
			badge: failedBadge,
		},
		{ area: "conversions", path: paths.conversionsPath, label: "Conversions" },
		{ area: "integration", path: paths.integrationPath, label: "Integration", hasCharts: true },
		{ area: "people", path: paths.peoplePath, label: "People" },
		{ area: "settings", path: paths.settingsPath, label: "Settings" },
	],
	partner: [],
};

export function joinMenus(additions: readonly MenuAdditions[]): Menus {
	const nameOf = ({ area }: MenuLink) => area;
	const { staff, programme, partner } = CORE_MENUS;
	return {
		staff: withAdditions(
			staff,
			additions.flatMap(({ staff = [] }) => staff),
			nameOf,
		),
		programme: withAdditions(
			programme,
			additions.flatMap(({ programme = [] }) => programme),
			nameOf,
		),
		partner: withAdditions(
			partner,
			additions.flatMap(({ partner = [] }) => partner),
			nameOf,
		),
	};
}

/**
 * Returns whether only staff can open the area. Warnings about the installation appear in these areas, but not on the
 * pages of a programme. The System page lists the warnings itself.
 */
export function isStaffArea({ staff }: Menus, area: Area): boolean {
	return area !== "system" && staff.some((link) => link.area === area);
}

export function hasCharts({ staff, programme, partner }: Menus, area: Area): boolean {
	return [...staff, ...programme, ...partner].some((link) => link.area === area && link.hasCharts);
}

/**
 * Counts the things to answer on the pages of these links. `count` returns undefined for a page that has no such
 * things.
 */
export async function countWaiting<Link extends MenuLink>(
	links: readonly Link[],
	count: (link: Link) => Promise<number> | undefined,
): Promise<WaitingCounts> {
	const counts = new Map<Area, number>();
	for (const link of links) {
		const waiting = await count(link);
		if (waiting !== undefined) counts.set(link.area, waiting);
	}
	return counts;
}

export function waitingBadge(
	{ area, waiting }: MenuLink & { waiting?: WaitingThings },
	counts: WaitingCounts,
): Html | null {
	const number = counts.get(area) ?? 0;
	return waiting === undefined || number === 0 ? null : countBadge("info", String(number), waiting.what);
}

/** Returns a badge with the number of failed callbacks, or 1 if callbacks are failing now. */
export function failedBadge({ trouble, failed }: DocumentOwner): Html | null {
	if (trouble === null && failed === 0) return null;
	return failed === 0
		? countBadge("bad", "1", "open")
		: countBadge("bad", countUndelivered(failed), "failed");
}

/** Returns a badge with a number. `what` tells screen readers what is counted. */
function countBadge(tone: "bad" | "info", count: Content, what: string): Html {
	return html`<span class="badge badge-${tone}">${count}<span class="visually-hidden"> ${what}</span></span>`;
}
