fetch("api/sources").then((answer) => answer.text()).then((text) => { document.getElementById("told").textContent = text; });
