// Serves /robots.txt, which tells search engines what they may read. Only the documentation is allowed, because other
// pages need a sign-in or, like partner links, count visitors.

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
