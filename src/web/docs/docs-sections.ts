// The documentation as sections of plain text, which the search goes through: taken from the pages themselves, so that
// whatever is shown is found.

export interface DocsSection {
	href: string;
	title: string;
	/** Where it stands: the document, and the section around it. */
	trail: readonly string[];
	/** In one line. */
	text: string;
	/** The same without listings: what explains, beside what only mentions. */
	prose: string;
	/** What the rows of its tables are about. */
	terms: readonly string[];
	/** Whoever types exactly this means this section. */
	code?: string;
}

const HEADING = /<h([234]) id="([^"]+)">(.*?)<\/h\1>/gs;
/** What is read by nobody who looks for a text: buttons, tabs, and what tables are called for screen readers. */
const FURNITURE = /<(button|nav|caption)\b.*?<\/\1>|<a class="heading-link".*?<\/a>/gs;

/** A page of ours, cut at its headings. */
export function cutSections(page: { path: string; title: string; body: string }): DocsSection[] {
	const headings = [...page.body.matchAll(HEADING)];
	const first = readMarkup(page.body.slice(0, headings[0]?.index));
	const sections: DocsSection[] = [{ href: page.path, title: page.title, trail: [], ...first }];
	let around = "";
	for (const [index, { 0: tag, 1: depth, 2: id = "", 3: markup = "", index: start }] of headings.entries()) {
		const title = plainText(markup);
		const trail = depth === "2" ? [page.title] : [page.title, around];
		if (depth === "2") around = title;
		const read = readMarkup(page.body.slice(start + tag.length, headings[index + 1]?.index));
		sections.push({ href: `${page.path}#${id}`, title, trail, ...read });
	}
	return sections;
}

const LISTING = /<pre\b.*?<\/pre>/gs;
const FIRST_CELL = /<tr\b[^>]*>\s*<td\b[^>]*>(.*?)<\/td>/gs;
/** A longer cell is a sentence, and no name. */
const MAX_TERM_CHARACTERS = 60;

function readMarkup(markup: string): Pick<DocsSection, "text" | "prose" | "terms"> {
	const cells = [...markup.matchAll(FIRST_CELL)].map(([, cell = ""]) => plainText(cell));
	return {
		text: plainText(markup),
		prose: plainText(markup.replace(LISTING, " ")),
		terms: cells
			.filter(({ length }) => length <= MAX_TERM_CHARACTERS)
			.flatMap((cell) => cell.split(/[\s,]+/)),
	};
}

/** Values in our markup are escaped, so that a ">" always ends a tag. */
function plainText(markup: string): string {
	return (
		markup
			.replace(FURNITURE, " ")
			.replace(/<\/t[dh]>(?=\s*<t[dh])/g, " · ")
			.replace(
				/<\/?(?:p|li|ul|ol|dl|dt|dd|tr|td|th|table|div|section|pre|h\d|br|blockquote|summary)\b[^>]*>/g,
				" ",
			)
			// A mark or a second line beside a text; the spans of highlighted code stand within a word.
			.replace(/<span class="(?!code-)[^"]*">/g, " ")
			.replace(/<[^>]*>/g, "")
			.replace(/&(amp|lt|gt|quot|#39|#x27);/g, (entity) => ENTITIES.get(entity) ?? entity)
			.replace(/\s+/g, " ")
			.trim()
	);
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
	["&amp;", "&"],
	["&lt;", "<"],
	["&gt;", ">"],
	["&quot;", '"'],
	["&#39;", "'"],
	["&#x27;", "'"],
]);
