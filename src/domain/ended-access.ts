// What ended together with somebody's access, and how it is told to whoever ended it.

export type EndedLinkKind = "invitation" | "password link" | "email confirmation";

export interface EndedLink {
	kind: EndedLinkKind;
	/** For whom it was. */
	email: string;
	/** The programme it belonged to; null for links of the network. */
	programmeId: number | null;
}

export interface EndedAccess {
	sessions: number;
	/** Sign-ins that waited for an authenticator's code. */
	challenges: number;
	links: readonly EndedLink[];
	/** Decisions and imports that they had applied, and are stopped. */
	jobs: number;
}

/** A message is one line on a phone's page: the rest is counted. */
const MAX_ADDRESSES_NAMED = 3;

/** Such as "2 sessions and 1 invitation to x@y.example were withdrawn, and 1 job was stopped"; null: nothing. */
export function sayWhatEnded(ended: EndedAccess): string | null {
	const parts = [
		...countedPart(ended.sessions, "session"),
		...countedPart(ended.challenges, "unfinished sign-in"),
		...linksOf(ended, "invitation", "to"),
		...linksOf(ended, "password link", "for"),
		...linksOf(ended, "email confirmation", "for"),
	];
	const total = ended.sessions + ended.challenges + ended.links.length;
	const said = [
		...(parts.length === 0 ? [] : [`${listOf(parts)} ${total === 1 ? "was" : "were"} withdrawn`]),
		...countedPart(ended.jobs, "job").map((text) => `${text} ${ended.jobs === 1 ? "was" : "were"} stopped`),
	];
	return said.length === 0 ? null : said.join(", and ");
}

/** For an owner, who is told about this programme alone: what else somebody did elsewhere is not theirs to know. */
export function withinProgramme(ended: EndedAccess, programmeId: number): EndedAccess {
	return { ...ended, links: ended.links.filter((link) => link.programmeId === programmeId) };
}

function linksOf({ links }: EndedAccess, kind: EndedLinkKind, preposition: string): string[] {
	const emails = links.filter((link) => link.kind === kind).map(({ email }) => email);
	const named = [...new Set(emails)].slice(0, MAX_ADDRESSES_NAMED);
	const more = new Set(emails).size - named.length;
	const whom = more === 0 ? listOf(named) : `${named.join(", ")} and ${more} more`;
	return countedPart(emails.length, kind).map((text) => `${text} ${preposition} ${whom}`);
}

function countedPart(count: number, noun: string): string[] {
	return count === 0 ? [] : [`${count} ${noun}${count === 1 ? "" : "s"}`];
}

function listOf(parts: readonly string[]): string {
	return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}
