// One formula a line in, one line of HTML out: {"tex": …, "display": …} → {"html": …} or {"error": …}.
const katex = require(process.argv[2]);
const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const { tex, display, macros } = JSON.parse(line);
  let reply;
  try {
    reply = { html: katex.renderToString(tex, { displayMode: display, macros, strict: "error" }) };
  } catch (error) {
    reply = { error: error.message };
  }
  process.stdout.write(JSON.stringify(reply) + "\n");
});
