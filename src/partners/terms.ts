// What a programme says to partners: whether it credits them at all, for how long after a click, where links may lead, and
// whether strangers may apply. Staff alone turn crediting on and allow subdomains: both move money.

import type { LandingHost } from "../domain/click.ts";
import { checkAll, type Result, refuse, succeed } from "../domain/fault.ts";
import { type SignedInPerson, transactInProgramme } from "../people/actor.ts";
import type { Clock } from "../ports.ts";
import { findLandingHosts } from "../store/queries/clicks.ts";
import { replaceLandingHosts } from "../store/queries/partners.ts";
import { type Programme, updateProgramme } from "../store/queries/programmes.ts";
import type { Store } from "../store/store.ts";
import { note } from "./partners.ts";

/** As typed; a box that is not ticked is empty. */
export interface PartnerTermsInput {
	creditsPartners: string;
	clickDays: string;
	clickParameter: string;
	showsBaskets: string;
	takesApplications: string;
	terms: string;
	/** One a line; one with "*." before it takes its subdomains, too. */
	hosts: string;
}

export const MAX_CLICK_DAYS = 365;
export const MAX_TERMS_LENGTH = 20_000;
const MAX_HOSTS = 50;

export async function savePartnerTerms(
	{ store, clock }: { store: Store; clock: Clock },
	maker: SignedInPerson,
	programme: Programme,
	input: PartnerTermsInput,
): Promise<Result<true>> {
	const read = checkAll({
		clickDays: readClickDays(input.clickDays.trim()),
		clickParameter: readParameter(input.clickParameter.trim()),
		hosts: readHosts(input.hosts),
		terms: readTerms(readProse(input.terms)),
	});
	if (!read.ok) return read;
	const { hosts, clickDays, clickParameter, terms } = read.value;
	const { id: programmeId } = programme;
	const isStaff = maker.kind === "staff";
	const done = await transactInProgramme<true>(store, maker, programmeId, async (trx) => {
		const present = (await findLandingHosts(trx, [programmeId])).get(programmeId) ?? [];
		const isOpened = hosts.some(
			(host) =>
				host.withSubdomains && !present.some((known) => known.host === host.host && known.withSubdomains),
		);
		if (!isStaff && isOpened) {
			return refuse("not_allowed", "Ask the network's staff to allow all subdomains of a host.", "hosts");
		}
		await replaceLandingHosts(trx, programmeId, hosts);
		const flag = (box: string) => (box === "" ? 0 : 1);
		await updateProgramme(trx, programmeId, {
			...(isStaff ? { credits_partners: flag(input.creditsPartners) } : {}),
			click_days: clickDays,
			click_parameter: clickParameter,
			shows_baskets: flag(input.showsBaskets),
			takes_applications: flag(input.takesApplications),
			partner_terms: terms,
		});
		await note(trx, { clock }, maker, "programme.changed", programme.public_id, "partners", programmeId);
		return succeed(true);
	});
	if (done.ok) store.announceChange(programmeId);
	return done;
}

function readClickDays(text: string): Result<number> {
	const days = Number(text);
	if (/^\d+$/.test(text) && days >= 1 && days <= MAX_CLICK_DAYS) return succeed(days);
	return refuse("invalid_field", `Enter a number of days from 1 to ${MAX_CLICK_DAYS}.`, "clickDays");
}

function readParameter(text: string): Result<string> {
	if (/^[A-Za-z][A-Za-z0-9_-]{0,31}$/.test(text)) return succeed(text);
	const rule =
		"The parameter has at most 32 letters, digits, hyphens and underscores, and starts with a letter.";
	return refuse("invalid_field", rule, "clickParameter");
}

function readTerms(text: string): Result<string> {
	if (text.length <= MAX_TERMS_LENGTH) return succeed(text);
	return refuse("invalid_field", `The terms have at most ${MAX_TERMS_LENGTH} characters.`, "terms");
}

/** Browsers send line breaks as two characters. */
export function readProse(text: string): string {
	return text.replaceAll("\r\n", "\n").trim();
}

/** Names that somebody can own, and no addresses. */
const HOST = /^[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*$/;

function readHosts(text: string): Result<readonly LandingHost[]> {
	const lines = text.split(/[\s,]+/).filter((line) => line !== "");
	const hosts = new Map<string, LandingHost>();
	for (const line of lines) {
		const withSubdomains = line.startsWith("*.");
		const name = withSubdomains ? line.slice(2) : line;
		const url = URL.parse(name.includes("//") ? name : `https://${name}`);
		if (url === null || url.port !== "" || !HOST.test(url.hostname)) {
			const cure = `“${line}” is no host. Enter names such as shop.example, one a line.`;
			return refuse("invalid_field", cure, "hosts");
		}
		const { hostname: host } = url;
		// Named twice, in another case or with and without its subdomains: the wider one is meant.
		hosts.set(host, { host, withSubdomains: withSubdomains || hosts.get(host)?.withSubdomains === true });
	}
	if (hosts.size > MAX_HOSTS) return refuse("invalid_field", `Enter at most ${MAX_HOSTS} hosts.`, "hosts");
	return succeed([...hosts.values()]);
}
