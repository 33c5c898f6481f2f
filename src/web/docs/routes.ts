// The documentation and what there is to download, for everybody; the operations guide for staff.

import {
	API_REFERENCE_PATH,
	DOCS_PATH,
	DOCS_SEARCH_PATH,
	DOWNLOADS_PATH,
	OPERATIONS_PATH,
	operationsPath,
	PROBLEMS_PATH,
	problemPath,
} from "../paths.ts";
import type { Route } from "../routes.ts";
import { showApiReference } from "./api-page.ts";
import { showDownloads } from "./downloads-page.ts";
import { showGuide } from "./guide-page.ts";
import { showOperations } from "./operations-page.ts";
import { showProblem, showProblems } from "./problem-pages.ts";
import { showSearch } from "./search-page.ts";

export const DOCS_ROUTES: readonly Route[] = [
	{ method: "GET", path: DOCS_PATH, access: "anyone", answer: showGuide },
	{ method: "GET", path: API_REFERENCE_PATH, access: "anyone", answer: showApiReference },
	{ method: "GET", path: DOCS_SEARCH_PATH, access: "anyone", answer: showSearch },
	{ method: "GET", path: OPERATIONS_PATH, access: "staff", answer: showOperations },
	{ method: "GET", path: operationsPath(":part"), access: "staff", answer: showOperations },
	{ method: "GET", path: PROBLEMS_PATH, access: "anyone", answer: showProblems },
	{ method: "GET", path: problemPath(":code"), access: "anyone", answer: showProblem },
	{ method: "GET", path: DOWNLOADS_PATH, access: "anyone", answer: showDownloads },
];
