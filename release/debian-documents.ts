// Writes the documents that Debian expects in a package: a manual page, and a changelog in Debian's own
// format. Both are generated from the command's help and CHANGELOG.md, so that nothing is written twice.

import { main } from "../src/main.ts";

export const MAINTAINER = "The Ringback maintainers <maintainers@ringback.example>";
/** Maximum line length in Debian's changelogs. */
const LINE_CHARACTERS = 78;

/**
 * Writes the manual page from `ringback --help`, with one line for each command, followed by the full help of
 * each.
 */
export async function writeManualPage(version: string): Promise<string> {
	const overview = await helpOf([]);
	const commands = [...overview.matchAll(/^ {2}(\S.*?) {2,}(.*)$/gm)];
	const entries: string[] = [];
	for (const [, name = ""] of commands) {
		const help = await helpOf(name.split(" "));
		entries.push(`.SS ${escapeRoff(name)}`, ".nf", ...help.split("\n").flatMap(wrap).map(escapeRoff), ".fi");
	}
	return [
		`.TH RINGBACK 1 "" "ringback ${version}" "Ringback"`,
		".SH NAME",
		"ringback \\- conversion tracking for affiliate networks, with signed callbacks",
		".SH SYNOPSIS",
		".B ringback",
		"\\fICOMMAND\\fR [\\fIOPTIONS\\fR]",
		".SH DESCRIPTION",
		"Tracks conversions and reports every status change to the shop by a signed callback.",
		"Settings come from the environment: \\fBringback guide settings\\fR lists them.",
		"With the Debian package use \\fBringbackctl\\fR(8), which brings the settings of the service.",
		".SH COMMANDS",
		...entries,
		".SH SEE ALSO",
		"\\fBringbackctl\\fR(8), /usr/share/doc/ringback/operations.md, or \\fBringback guide\\fR",
		"",
	].join("\n");
}

export function writeControlPage(version: string): string {
	return `.TH RINGBACKCTL 8 "" "ringback ${version}" "Ringback"
.SH NAME
ringbackctl \\- runs a command of ringback as the service does
.SH SYNOPSIS
.B ringbackctl
\\fICOMMAND\\fR [\\fIOPTIONS\\fR]
.SH DESCRIPTION
Runs \\fBringback\\fR(1) as the account ringback, in /var/lib/ringback, with the settings in
/etc/ringback/ringback.env. It must be run as root.
.SH EXAMPLES
.B sudo ringbackctl doctor
.SH SEE ALSO
\\fBringback\\fR(1)
`;
}

/**
 * Writes the section of this version in the format of deb-changelog(5). `madeAt` is used if the section has
 * no date.
 */
export function writeDebianChangelog(changelog: string, version: string, madeAt: Date): string {
	const sections = changelog.split(/^## /m).map((section) => section.split("\n"));
	const [title = "", ...lines] = sections.find(([first = ""]) => first.startsWith(`[${version}]`)) ?? [];
	const [, date = ""] = / - (.+)$/.exec(title) ?? [];
	const day = Number.isNaN(Date.parse(date)) ? madeAt : new Date(`${date} UTC`);
	const changes = lines
		.filter((line) => line.startsWith("- "))
		.map((line) => line.replaceAll("**", "").replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "$1"));
	const entries = (changes.length === 0 ? [`- Version ${version}.`] : changes).flatMap((line) =>
		wrap(`  * ${line.slice(2)}`).map((part, index) => (index === 0 ? part : `    ${part.trimStart()}`)),
	);
	return [
		`ringback (${version}) stable; urgency=medium`,
		"",
		...entries,
		"",
		` -- ${MAINTAINER}  ${day.toUTCString().replace("GMT", "+0000")}`,
		"",
	].join("\n");
}

async function helpOf(words: readonly string[]): Promise<string> {
	const said: string[] = [];
	const screen = { out: (line: string) => said.push(line), error: (line: string) => said.push(line) };
	await main([...words, "--help"], screen, {});
	return said.join("\n");
}

/** Wraps a line at white space. Continuation lines are indented like the first. */
function wrap(line: string): string[] {
	const [indent = ""] = /^ */.exec(line) ?? [];
	const room = LINE_CHARACTERS - 4;
	const lines: string[] = [];
	let rest = line;
	while (rest.length > room) {
		const at = rest.lastIndexOf(" ", room);
		if (at <= indent.length) break;
		lines.push(rest.slice(0, at).trimEnd());
		rest = indent + rest.slice(at + 1);
	}
	return [...lines, rest];
}

function escapeRoff(text: string): string {
	return text
		.replaceAll("\\", "\\e")
		.replaceAll("-", "\\-")
		.replace(/^(?=[.'])/, "\\&");
}
