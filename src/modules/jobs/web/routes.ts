// The routes of jobs, which are uploaded decisions about a programme, statements and payments, and staff's
// imports from other software.

import {
	bulkJobPath,
	bulkPath,
	IMPORT_PATH,
	importJobPath,
	importKindPath,
	PAYMENTS_PATH,
	statementJobPath,
} from "#core/web/paths.ts";
import { type FileBounds, IMPORT_FILES, SMALL_FILES } from "#core/web/receive-file.ts";
import { type Access, form, page, type Route } from "#core/web/routes.ts";
import type { JobKind } from "../use-cases/kind.ts";
import { IMPORT_KINDS, JOB_KINDS } from "../use-cases/kinds.ts";
import { applyJobPage, discardJobPage, showJob, showResultFile, stopJobPage } from "./job-page.ts";
import { receiveUpload, showUploadPage } from "./upload-page.ts";

function uploadRoutes(kind: JobKind, path: string, access: Access, takesFile: FileBounds): Route[] {
	return [page(path, access, showUploadPage(kind)), form(path, access, receiveUpload(kind), takesFile)];
}

function jobRoutes(path: string, access: Access): Route[] {
	return [
		page(path, access, showJob),
		page(`${path}/result.csv`, access, showResultFile(false)),
		page(`${path}/problems.csv`, access, showResultFile(true)),
		form(`${path}/apply`, access, applyJobPage),
		form(`${path}/stop`, access, stopJobPage),
		form(`${path}/discard`, access, discardJobPage),
	];
}

export const JOB_ROUTES: readonly Route[] = [
	page(IMPORT_PATH, "staff", (c) => c.redirect(importKindPath("programmes"), 303)),
	...IMPORT_KINDS.flatMap((name) =>
		uploadRoutes(JOB_KINDS[name], importKindPath(name), "staff", IMPORT_FILES),
	),
	...jobRoutes(importJobPath(":importId"), "staff"),
	...uploadRoutes(JOB_KINDS.payments, PAYMENTS_PATH, "staff", SMALL_FILES),
	...jobRoutes(statementJobPath(":statementJobId"), "staff"),
	...uploadRoutes(JOB_KINDS.decisions, bulkPath(":programmeId"), "programme-decide", SMALL_FILES),
	...jobRoutes(bulkJobPath(":programmeId", ":jobId"), "programme-decide"),
];
