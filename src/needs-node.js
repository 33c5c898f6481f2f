// Ends the process with a helpful sentence if this Node is too old for our sources. It is plain JavaScript,
// because an old Node cannot load a .ts file or understand newer flags.

const OLDEST_MAJOR = 26;

if (Number(process.versions.node.split(".")[0]) < OLDEST_MAJOR) {
	console.error(
		`Ringback needs Node ${OLDEST_MAJOR}, and this is Node ${process.versions.node}. "npm ci" brings Node ${OLDEST_MAJOR} along ` +
			"for Linux and macOS on x64 and arm64, unless optional packages are left out (--omit=optional): run it " +
			`again without that. On any other machine install Node ${OLDEST_MAJOR} yourself.`,
	);
	process.exit(1);
}
