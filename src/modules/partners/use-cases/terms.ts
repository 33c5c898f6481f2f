// A programme's settings for partners: whether it credits them, for how long after a click, where their links may lead,
// whether strangers may apply, and whether partners find it in a list. Only staff turn crediting on, because it moves money.
// Only staff confirm shop addresses and allow subdomains, because links lead visitors there from the network's own host.

import {
	type Checked,
	checkAll,
	type Fault,
	fault,
	listFaults,
	type Result,
	refuse,
	refuseAll,
	succeed,
} from "#core/domain/fault.ts";
import { compareForm } from "#core/domain/form-changes.ts";
import { inProgramme, type PersonActor, transactAs } from "#core/people/actor.ts";
import type { Clock } from "#core/ports.ts";
import { lockProgramme, type Programme, updateProgramme } from "#core/store/queries/programmes.ts";
import type { Store } from "#core/store/store.ts";
import { type LandingHost, sayHost } from "../domain/click.ts";
import { type ListedHost, listLandingHosts, replaceLandingHosts } from "../store/landing-hosts.ts";
import { note } from "./partners.ts";

/** The settings as they were typed. A checkbox that is not ticked is empty. */
export interface PartnerTermsInput {
	creditsPartners: string;
	clickDays: string;
	clickParameter: string;
	showsBaskets: string;
	takesApplications: string;
	isListed: string;
	terms: string;
	/** Hosts to which links may lead, one on each line. "*." before a host includes its subdomains. */
	hosts: string;
}

interface PartnerTerms {
	creditsPartners: boolean;
	clickDays: number;
	clickParameter: string;
	showsBaskets: boolean;
	takesApplications: boolean;
	isListed: boolean;
	terms: string;
	/**
	 * The hosts to which links may lead, as people write them and in alphabetical order, so that two lists can
	 * be compared.
	 */
	hosts: string;
}

const TERM_LABELS: Readonly<Record<keyof PartnerTerms, string>> = {
	creditsPartners: "credits partners",
	clickDays: "days for which a click counts",
	clickParameter: "name of the click ID",
	hosts: "shop addresses",
	showsBaskets: "partners see basket values",
	takesApplications: "takes applications",
	isListed: "listed for partners",
	terms: "terms for partners",
};
const TERM_NAMES = Object.keys(TERM_LABELS) as (keyof PartnerTerms)[];

export const MAX_CLICK_DAYS = 365;
const MAX_TERMS_LENGTH = 20_000;
const MAX_HOSTS = 50;

export interface SavingOptions {
	/**
	 * Settings that the form contained when it was opened. Only differences from them are saved. If they are
	 * missing, all fields that were typed are saved.
	 */
	shown?: Partial<PartnerTermsInput> | undefined;
	/**
	 * True if the typed hosts do not include the hosts that wait for staff. The waiting hosts then stay in the
	 * list. A form shows both kinds together.
	 */
	keepsWaitingHosts?: boolean;
}

/**
 * Saves the settings, and resolves to whether anything changed. Settings that are left out of `typed` stay as they are.
 * An owner's form cannot change whether partners are credited.
 */
export async function savePartnerTerms(
	{ store, clock, allowsPrivateRanges }: { store: Store; clock: Clock; allowsPrivateRanges: boolean },
	actor: PersonActor,
	programmeId: number,
	typed: Partial<PartnerTermsInput>,
	{ shown = {}, keepsWaitingHosts = false }: SavingOptions = {},
): Promise<Checked<boolean>> {
	const read = readTerms(typed, allowsPrivateRanges);
	if (!read.ok) return read;
	const seen = readTerms(shown, allowsPrivateRanges);
	const form = { typed: read.value, shown: seen.ok ? seen.value.terms : {}, keepsWaitingHosts };
	const saved = await transactAs<boolean>(store, actor, inProgramme(programmeId), async (trx) => {
		const programme = await lockProgramme(trx, programmeId);
		if (programme === undefined) {
			return refuseAll([fault("unknown_programme", "This programme does not exist.")]);
		}
		const hosts = await listLandingHosts(trx, programmeId);
		const judged = judgeForm(termsOf(programme, hosts), hosts, form, actor.kind === "staff", clock.nowMs());
		if (!judged.ok) return judged;
		const { after, hostsAfter, changes } = judged.value;
		if (changes.length === 0) return succeed(false);
		if (hostsAfter !== hosts) await replaceLandingHosts(trx, programme, hostsAfter);
		await updateProgramme(trx, programme, rowOf(after));
		const detail = changes.join("; ");
		await note(trx, { clock }, actor, "programme.changed", programme.public_id, detail, programmeId);
		return succeed(true);
	});
	if (saved.ok && saved.value) store.announceChange(programmeId);
	return listFaults(saved);
}

interface Form {
	typed: ReadTerms;
	/** The settings that the form contained when it was opened. */
	shown: Partial<PartnerTerms>;
	keepsWaitingHosts: boolean;
}

interface JudgedForm {
	after: PartnerTerms;
	/** The hosts to store, which are the stored ones if they do not change. */
	hostsAfter: readonly ListedHost[];
	/** The changed settings in words, for the audit log. */
	changes: readonly string[];
}

/** Returns the settings as they are after the form, or why it is refused. */
function judgeForm(
	stored: PartnerTerms,
	hosts: readonly ListedHost[],
	{ typed, shown, keepsWaitingHosts }: Form,
	isStaff: boolean,
	nowMs: number,
): Checked<JudgedForm> {
	const opened = { ...stored, ...shown };
	const typedHosts = typed.hosts ?? [];
	const typedNames = new Set(typedHosts.map(({ host }) => host));
	const keptHosts =
		keepsWaitingHosts && typed.hosts !== undefined
			? hosts.filter(({ host, waitingSinceMs }) => waitingSinceMs !== null && !typedNames.has(host))
			: [];
	const wantedHosts: readonly LandingHost[] = [...typedHosts, ...keptHosts];
	if (wantedHosts.length > MAX_HOSTS) return refuseAll([tooManyHosts()]);
	const wanted = {
		...typed.terms,
		...(typed.hosts === undefined ? {} : { hosts: sayHosts(wantedHosts) }),
		...(isStaff ? {} : { creditsPartners: opened.creditsPartners }),
	};
	const { changed, overtaken } = compareForm(TERM_NAMES, { shown: opened, wanted, stored });
	if (overtaken.length > 0) return refuseAll(overtaken.map(changedMeanwhile));
	const isHostsChange = changed.includes("hosts");
	if (!isStaff && isHostsChange && opensSubdomains(hosts, wantedHosts)) {
		const text = "Ask the network's staff to allow all subdomains of a host.";
		return refuseAll([fault("not_allowed", text, "hosts")]);
	}
	const after: PartnerTerms = {
		...stored,
		...Object.fromEntries(changed.map((term) => [term, wanted[term]])),
	};
	const hostsAfter = isHostsChange ? planHosts(hosts, wantedHosts, isStaff ? null : nowMs) : hosts;
	const changes = changed.map(
		(term) => `${TERM_LABELS[term]}: ${sayTerm(term, stored, hosts)} → ${sayTerm(term, after, hostsAfter)}`,
	);
	return succeed({ after, hostsAfter, changes });
}

function termsOf(programme: Programme, hosts: readonly LandingHost[]): PartnerTerms {
	return {
		creditsPartners: programme.credits_partners === 1,
		clickDays: programme.click_days,
		clickParameter: programme.click_parameter,
		hosts: sayHosts(hosts),
		showsBaskets: programme.shows_baskets === 1,
		takesApplications: programme.takes_applications === 1,
		isListed: programme.is_listed === 1,
		terms: programme.partner_terms,
	};
}

function rowOf(terms: PartnerTerms) {
	return {
		credits_partners: terms.creditsPartners ? 1 : 0,
		click_days: terms.clickDays,
		click_parameter: terms.clickParameter,
		shows_baskets: terms.showsBaskets ? 1 : 0,
		takes_applications: terms.takesApplications ? 1 : 0,
		is_listed: terms.isListed ? 1 : 0,
		partner_terms: terms.terms,
	} as const;
}

function sayHosts(hosts: readonly LandingHost[]): string {
	return hosts.map(sayHost).sort().join(", ");
}

/**
 * Returns the hosts to store. A host that was already in the list stays confirmed or unconfirmed, so staff
 * who change another host or setting do not confirm it by accident. A new host waits for confirmation since
 * `waitingSinceMs`, or is confirmed at once if `waitingSinceMs` is null.
 */
function planHosts(
	stored: readonly ListedHost[],
	wanted: readonly LandingHost[],
	waitingSinceMs: number | null,
): ListedHost[] {
	const existing = new Map(stored.map((one) => [one.host, one]));
	return wanted.map((one) => {
		const before = existing.get(one.host);
		// A host also counts as new if its subdomains are added to the list. Only staff can add them, and by
		// adding them they confirm the host.
		const isNew = before === undefined || (one.withSubdomains && !before.withSubdomains);
		return { ...one, waitingSinceMs: isNew ? waitingSinceMs : before.waitingSinceMs };
	});
}

/**
 * Returns whether the wanted list allows the subdomains of any host whose subdomains the stored list does not
 * allow.
 */
function opensSubdomains(stored: readonly LandingHost[], wanted: readonly LandingHost[]): boolean {
	const open = new Set(stored.filter(({ withSubdomains }) => withSubdomains).map(({ host }) => host));
	return wanted.some(({ host, withSubdomains }) => withSubdomains && !open.has(host));
}

/**
 * Formats a setting for the audit log. The text of the terms is too long for the log, so only its length is
 * given.
 */
function sayTerm(term: keyof PartnerTerms, terms: PartnerTerms, hosts: readonly ListedHost[]): string {
	const value = terms[term];
	if (term === "hosts") {
		const listed = hosts.map(
			(host) => `${sayHost(host)}${host.waitingSinceMs === null ? "" : " (waits for staff)"}`,
		);
		return listed.sort().join(", ") || "none";
	}
	if (term === "terms") return `${terms.terms.length} characters`;
	if (typeof value === "boolean") return value ? "yes" : "no";
	return String(value) || "none";
}

function changedMeanwhile(term: keyof PartnerTerms): Fault {
	const text = `Another person changed this setting (${TERM_LABELS[term]}) while this page was open. Nothing was saved. Check it and save again.`;
	return fault("changed_meanwhile", text, term);
}

/** Settings that were parsed. Settings that the form did not contain are left out. */
interface ReadTerms {
	terms: Partial<PartnerTerms>;
	hosts?: readonly LandingHost[];
}

const CHECKBOXES = ["creditsPartners", "showsBaskets", "takesApplications", "isListed"] as const;

function readTerms(typed: Partial<PartnerTermsInput>, allowsLocalHosts: boolean): Checked<ReadTerms> {
	const { clickDays, clickParameter, hosts: hostsText, terms } = typed;
	const read = checkAll<{
		clickDays?: number;
		clickParameter?: string;
		hosts?: readonly LandingHost[];
		terms?: string;
	}>({
		...(clickDays === undefined ? {} : { clickDays: readClickDays(clickDays.trim()) }),
		...(clickParameter === undefined ? {} : { clickParameter: readParameter(clickParameter.trim()) }),
		...(hostsText === undefined ? {} : { hosts: readHosts(hostsText, allowsLocalHosts) }),
		...(terms === undefined ? {} : { terms: readProgrammeTerms(readProse(terms)) }),
	});
	if (!read.ok) return read;
	const { hosts, ...texts } = read.value;
	const boxes = CHECKBOXES.flatMap((name) => (typed[name] === undefined ? [] : [[name, typed[name] !== ""]]));
	const given: Partial<PartnerTerms> = { ...texts, ...Object.fromEntries(boxes) };
	return succeed(
		hosts === undefined ? { terms: given } : { terms: { ...given, hosts: sayHosts(hosts) }, hosts },
	);
}

function readClickDays(text: string): Result<number> {
	const days = Number(text);
	if (/^\d+$/.test(text) && days >= 1 && days <= MAX_CLICK_DAYS) return succeed(days);
	return refuse("invalid_field", `Enter a number of days from 1 to ${MAX_CLICK_DAYS}.`, "clickDays");
}

function readParameter(text: string): Result<string> {
	if (/^[A-Za-z][A-Za-z0-9_-]{0,31}$/.test(text)) return succeed(text);
	const rule = "The name has at most 32 letters, digits, hyphens and underscores, and starts with a letter.";
	return refuse("invalid_field", rule, "clickParameter");
}

function readProgrammeTerms(text: string): Result<string> {
	if (text.length <= MAX_TERMS_LENGTH) return succeed(text);
	return refuse("invalid_field", `The terms have at most ${MAX_TERMS_LENGTH} characters.`, "terms");
}

/** Normalizes line breaks to LF, the stored form. Browsers send CR LF. */
export function readProse(text: string): string {
	return text.replaceAll("\r\n", "\n").trim();
}

/** Form of a domain name that somebody can own. IP addresses and names without a dot do not match. */
const HOST = /^[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*$/;

/** Maximum length of a line. A host name has at most 253 characters, and people may paste an address with it. */
const MAX_HOST_LINE = 300;

/** Form of a host on the developer's own machine or network, such as "localhost" or "192.168.1.7". */
const LOCAL_HOST = /^(?:[a-z0-9-]+|[0-9.]+)$/;

/**
 * Parses host names, separated by commas or white space. "*." before a host includes its subdomains. With
 * `allowsLocalHosts`, which is for development, a host may have a port and need not be a public name.
 */
export function readHosts(text: string, allowsLocalHosts = false): Result<readonly LandingHost[]> {
	const lines = text.split(/[\s,]+/).filter((line) => line !== "");
	if (lines.length > MAX_HOSTS) return { ok: false, fault: tooManyHosts() };
	const hosts = new Map<string, LandingHost>();
	for (const line of lines) {
		const withSubdomains = line.startsWith("*.");
		const name = withSubdomains ? line.slice(2) : line;
		const address = name.includes("//") ? name : `https://${name}`;
		const url = address.length <= MAX_HOST_LINE ? URL.parse(address) : null;
		const isHost = HOST.test(url?.hostname ?? "");
		const isLocal = allowsLocalHosts && LOCAL_HOST.test(url?.hostname ?? "");
		if (url === null || !(isHost || isLocal)) {
			const cure = `“${line.slice(0, MAX_HOST_LINE)}” is not a shop address. Enter names such as shop.example, one a line.`;
			return refuse("invalid_field", cure, "hosts");
		}
		if (url.port !== "" && !allowsLocalHosts) {
			const cure = `“${line}” has a port. Enter the name without it, such as ${url.hostname}.`;
			return refuse("invalid_field", cure, "hosts");
		}
		const { host } = url;
		// If a host is entered twice, with and without its subdomains, the wider entry wins.
		hosts.set(host, { host, withSubdomains: withSubdomains || hosts.get(host)?.withSubdomains === true });
	}
	return succeed([...hosts.values()]);
}

function tooManyHosts(): Fault {
	return fault("invalid_field", `Enter at most ${MAX_HOSTS} hosts, with those that wait for staff.`, "hosts");
}
