// /robots.txt, with which search engines learn what they may read. Everything but the documentation needs signing in
// or, as partner links do, counts who opens it.

import type { WebContext } from "../page.ts";
import * as paths from "../paths.ts";
import { answerText } from "./docs-pages.ts";

const READABLE = [
	paths.DOCS_PATH,
	paths.PROBLEMS_PATH,
	paths.DOWNLOADS_PATH,
	"/llms",
	"/openapi.json",
	"/assets/",
];

const ROBOTS = ["User-agent: *", ...READABLE.map((path) => `Allow: ${path}`), "Disallow: /", ""].join("\n");

export function showRobots(c: WebContext): Promise<Response> {
	return answerText(c, "text/plain", paths.ROBOTS_PATH, () => ROBOTS);
}
