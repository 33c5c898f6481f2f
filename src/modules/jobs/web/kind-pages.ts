// Words and links that the pages of jobs show for each kind of job.

import { programmeOf, type WebContext } from "#core/web/page.ts";
import * as paths from "#core/web/paths.ts";
import * as ui from "#core/web/ui.ts";
import type { Job } from "../store/jobs.ts";
import type { JobKindName } from "../store/tables.ts";

interface KindPages {
	/** Entry of the menu to which the job's page belongs. */
	menuEntry: "conversions" | "programmes" | "statements";
	/** Verb on the button that applies the lines. */
	verb: string;
	/** Past participle of the verb, for the result. */
	done: string;
	/** Title of the progress while lines are applied. */
	atWork: string;
	/** Label of the lines for which nothing has to change. */
	already: string;
	/** Label of the lines that are refused. */
	refused: string;
	/** Caption of the table of refused lines, and the title of its column with the reasons. */
	refusedTable: { caption: string; reasons: string };
	/** Advice about refused lines. */
	advice: string;
	/** Text that says what to do if the other lines of a stopped job were removed. */
	again: string;
	/** Returns the page on which a job of this kind begins. */
	uploadPath(c: WebContext): string;
	jobPath(c: WebContext, publicId: string): string;
	/** Returns where the link back from a job leads. */
	back(c: WebContext, query: string | null): { label: string; href: string };
}

/** Words for lines that come from a file. */
const FILE_WORDS = {
	atWork: "Applying every line",
	already: "No change needed",
	refused: "Needs fixing",
	refusedTable: { caption: "Lines that need fixing", reasons: "What to fix" },
	advice: "Download these lines, correct them, and upload that file.",
	again: "Upload the file again",
};

const ACCOUNT_PAGES: Pick<KindPages, "menuEntry" | "jobPath" | "back"> = {
	menuEntry: "statements",
	jobPath: (_, publicId) => paths.statementJobPath(publicId),
	back: (_, query) => ({ label: "All statements", href: `${paths.STATEMENTS_PATH}${query ?? ""}` }),
};

const DECISIONS: KindPages = {
	...FILE_WORDS,
	menuEntry: "conversions",
	verb: "Decide",
	done: "decided",
	uploadPath: (c) => paths.bulkPath(programmeOf(c).public_id),
	jobPath: (c, publicId) => paths.bulkJobPath(programmeOf(c).public_id, publicId),
	back: (c, query) => ({ label: "Back to the list", href: listOf(c, query) }),
};

const PAYMENTS: KindPages = {
	...FILE_WORDS,
	...ACCOUNT_PAGES,
	verb: "Record",
	done: "recorded",
	uploadPath: () => paths.PAYMENTS_PATH,
};

const STATEMENTS: KindPages = {
	...ACCOUNT_PAGES,
	verb: "Issue",
	done: "issued",
	atWork: "Issuing every statement",
	already: "Issued already",
	refused: "Left out",
	refusedTable: { caption: "Statements that were left out", reasons: "Why" },
	advice: "Prepare the month again. The next preview has these statements as they are then.",
	again: "Prepare the month again",
	uploadPath: () => paths.STATEMENTS_PATH,
};

export function pagesOf(kind: JobKindName): KindPages {
	switch (kind) {
		case "decisions":
			return DECISIONS;
		case "payments":
			return PAYMENTS;
		case "statements":
			return STATEMENTS;
		default:
			return {
				...FILE_WORDS,
				menuEntry: "programmes",
				verb: "Import",
				done: "imported",
				uploadPath: () => paths.importKindPath(kind),
				jobPath: (_, publicId) => paths.importJobPath(publicId),
				back: () => ({ label: "All imports", href: paths.importKindPath(kind) }),
			};
	}
}

/** Returns the name of a kind as people read it, such as "Open conversions". */
export function kindLabel(kind: JobKindName): string {
	return ui.capitalise(kind.replaceAll("-", " "));
}

export function jobPath(
	c: WebContext,
	{ kind, public_id: publicId }: Pick<Job, "kind" | "public_id">,
): string {
	return pagesOf(kind).jobPath(c, publicId);
}

/** Returns the path of the list of conversions, with the filters of a job. */
export function listOf(c: WebContext, query: string | null): string {
	return `${paths.conversionsPath(programmeOf(c).public_id)}${query ?? ""}`;
}
