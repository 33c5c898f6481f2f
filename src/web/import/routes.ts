// Moving here from other software: for staff alone.

import { IMPORT_PATH, importJobPath, importKindPath } from "../paths.ts";
import { IMPORT_FILES } from "../receive-file.ts";
import type { Route } from "../routes.ts";
import { KINDS, showImport, showTemplate, uploadFile } from "./import-page.ts";
import {
	applyImportJob,
	discardImportJob,
	showImportJob,
	showResultFile,
	stopImportJob,
} from "./job-page.ts";

const JOB = importJobPath(":importId");

export const IMPORT_ROUTES: readonly Route[] = [
	{
		method: "GET",
		path: IMPORT_PATH,
		access: "staff",
		answer: (c) => c.redirect(importKindPath("programmes"), 303),
	},
	...KINDS.flatMap((kind): Route[] => {
		const path = importKindPath(kind.name);
		return [
			{ method: "GET", path, access: "staff", answer: showImport(kind) },
			{ method: "POST", path, access: "staff", takesFile: IMPORT_FILES, answer: uploadFile(kind) },
			{ method: "GET", path: `${path}/template.csv`, access: "staff", answer: showTemplate(kind) },
		];
	}),
	{ method: "GET", path: JOB, access: "staff", answer: showImportJob },
	{ method: "GET", path: `${JOB}/result.csv`, access: "staff", answer: showResultFile(false) },
	{ method: "GET", path: `${JOB}/problems.csv`, access: "staff", answer: showResultFile(true) },
	{ method: "POST", path: `${JOB}/apply`, access: "staff", answer: applyImportJob },
	{ method: "POST", path: `${JOB}/stop`, access: "staff", answer: stopImportJob },
	{ method: "POST", path: `${JOB}/discard`, access: "staff", answer: discardImportJob },
];
